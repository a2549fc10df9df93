"""Findings as canonical JSON and back: equal findings give equal bytes, and what is read is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Union, cast, get_args, get_origin, get_type_hints

import orjson

from tachograph.core.errors import CorruptPayload, UnsupportedSchema
from tachograph.core.findings._kinds import (
    EffectFinding,
    Finding,
    IntegrityFinding,
    ReplayFinding,
    RunFinding,
    SegmentFinding,
    SignatureFinding,
)

_FORMAT = 1

_KINDS: Mapping[str, type[Finding]] = {
    "effect": EffectFinding,
    "integrity": IntegrityFinding,
    "replay": ReplayFinding,
    "run": RunFinding,
    "segment": SegmentFinding,
    "signature": SignatureFinding,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def finding_bytes(finding: Finding) -> bytes:
    """A finding as JSON: sorted keys, no spaces, `format` and `kind` beside the `finding`."""
    document = {"format": _FORMAT, "kind": _NAMES[type(finding)], "finding": finding}
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def finding_of(data: bytes) -> Finding:
    """The finding that `finding_bytes` wrote.

    Raises:
        UnsupportedSchema: a newer release wrote it.
        CorruptPayload: it is no finding, or has fields of other types than it should.
    """
    try:
        document = _mapping(orjson.loads(data))
        form, name = document["format"], document["kind"]
        if form == _FORMAT and name in _KINDS:
            return cast("Finding", _typed(document["finding"], _KINDS[cast("str", name)]))
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptPayload("a finding", 0, f"it does not read as one: {error}") from error
    raise UnsupportedSchema("finding", f"format {form!r}, kind {name!r}")


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} stands where an object should")
    return cast("Mapping[str, object]", value)


def _typed(value: object, wanted: object) -> object:
    """JSON as the value of a type; TypeError, ValueError or KeyError where it is none."""
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return None if value is None else _typed(value, _present(wanted))
    if origin is tuple:
        return _tuple(value, get_args(wanted))
    assert isinstance(wanted, type)
    if is_dataclass(wanted):
        return _object(_mapping(value), wanted)
    if issubclass(wanted, Enum):
        return wanted(value)
    return _exactly(value, cast("type", wanted))


def _exactly(value: object, wanted: type) -> object:
    if type(value) is not wanted:
        raise TypeError(f"{type(value).__name__} stands where {wanted.__name__} should")
    return value


def _present(wanted: object) -> object:
    return next(option for option in get_args(wanted) if option is not NoneType)


def _tuple(value: object, hints: tuple[object, ...]) -> object:
    if not isinstance(value, list):
        raise TypeError(f"{type(value).__name__} stands where a list should")
    items = cast("list[object]", value)
    if hints[-1] is Ellipsis:
        return tuple(_typed(item, hints[0]) for item in items)
    return tuple(_typed(item, hint) for item, hint in zip(items, hints, strict=True))


def _object(value: Mapping[str, object], wanted: type) -> object:
    hints = _hints(wanted)
    if unknown := sorted(value.keys() - hints.keys()):
        raise TypeError(f"there is no field {unknown[0]!r} in {wanted.__name__}")
    make = cast("Callable[..., object]", wanted)
    return make(**{name: _typed(value[name], hint) for name, hint in hints.items()})


@cache
def _hints(wanted: type) -> dict[str, object]:
    return dict(get_type_hints(wanted))
