"""A run's state as canonical bytes and back: equal states give equal bytes, in whichever order they were folded.

JSON with sorted keys; bytes are base64, sets are sorted lists, and mappings whose keys are not text are lists of pairs.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Literal, Union, cast, get_args, get_origin, get_type_hints

import orjson

from tachograph.core.errors import UnsupportedSchema
from tachograph.core.state._model import RunState

_FORMAT = 1
_FORMAT_NAME = "folded state"


def state_bytes(state: RunState) -> bytes:
    """The state as bytes."""
    return orjson.dumps({"format": _FORMAT, "state": _plain(state)}, option=orjson.OPT_SORT_KEYS)


def state_from_bytes(data: bytes) -> RunState:
    """The state that `state_bytes` wrote; folding goes on from it.

    Raises:
        UnsupportedSchema: another release wrote it, or it is damaged; fold the run's events again.
    """
    try:
        read = cast("Mapping[str, object]", orjson.loads(data))
        if read["format"] != _FORMAT:
            raise UnsupportedSchema(_FORMAT_NAME, str(read["format"]))
        state = _typed(read["state"], RunState)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnsupportedSchema(_FORMAT_NAME, "of damaged bytes") from error
    assert isinstance(state, RunState)
    _rejoin(state)
    return state


def _rejoin(state: RunState) -> None:
    """A streak that is a loop already is one object in both places, so that it goes on growing."""
    for agent in state.agents.values():
        if agent.loops and agent.loops[-1] == agent.streak:
            agent.streak = agent.loops[-1]


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return _plain_mapping(cast("Mapping[object, object]", value))
    if isinstance(value, set | list | tuple):
        items = [_plain(item) for item in cast("Iterable[object]", value)]
        return sorted(cast("list[str]", items)) if isinstance(value, set) else items
    return value.value if isinstance(value, Enum) else value


def _plain_mapping(value: Mapping[object, object]) -> object:
    if all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    pairs = sorted(value.items(), key=lambda pair: cast("tuple[str, int]", pair[0]))
    return [[_plain(key), _plain(item)] for key, item in pairs]


def _typed(value: object, wanted: object) -> object:
    """JSON turned into what a type says it was."""
    if get_origin(wanted) in (Union, UnionType):
        return _one_of(value, get_args(wanted))
    if wanted is bytes:
        return b64decode(cast("str", value), validate=True)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return wanted(value)
    if isinstance(wanted, type) and is_dataclass(wanted):
        return _object(cast("Mapping[str, object]", value), wanted)
    if get_origin(wanted) in _CONTAINERS:
        return _CONTAINERS[get_origin(wanted)](value, get_args(wanted))
    return value


def _one_of(value: object, options: tuple[object, ...]) -> object:
    if value is None:
        return None
    return _typed(value, next(option for option in options if option is not NoneType))


def _object(value: Mapping[str, object], wanted: type) -> object:
    make = cast("Callable[..., object]", wanted)
    return make(**{name: _typed(value[name], hint) for name, hint in _hints(wanted).items()})


@cache
def _hints(wanted: type) -> dict[str, object]:
    return dict(get_type_hints(wanted))


def _list(value: object, hints: tuple[object, ...]) -> object:
    return [_typed(item, hints[0]) for item in cast("list[object]", value)]


def _set(value: object, hints: tuple[object, ...]) -> object:
    return {_typed(item, hints[0]) for item in cast("list[object]", value)}


def _tuple(value: object, hints: tuple[object, ...]) -> object:
    items = cast("list[object]", value)
    if hints[-1] is Ellipsis:
        return tuple(_typed(item, hints[0]) for item in items)
    return tuple(_typed(item, hint) for item, hint in zip(items, hints, strict=True))


def _dict(value: object, hints: tuple[object, ...]) -> object:
    key, item = hints
    if isinstance(value, dict):
        return {name: _typed(content, item) for name, content in cast("dict[str, object]", value).items()}
    pairs = cast("list[tuple[object, object]]", value)
    return {_typed(name, key): _typed(content, item) for name, content in pairs}


def _as_is(value: object, hints: tuple[object, ...]) -> object:
    del hints
    return value


_CONTAINERS: dict[object, Callable[[object, tuple[object, ...]], object]] = {
    list: _list,
    set: _set,
    tuple: _tuple,
    dict: _dict,
    Literal: _as_is,
}
