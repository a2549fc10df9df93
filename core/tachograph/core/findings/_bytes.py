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
            return cast("Finding", _reader(cast("type", _KINDS[cast("str", name)]))(document["finding"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptPayload("a finding", 0, f"it does not read as one: {error}") from error
    raise UnsupportedSchema("finding", f"format {form!r}, kind {name!r}")


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} stands where an object should")
    return cast("Mapping[str, object]", value)


_Read = Callable[[object], object]
"""JSON as the value of a type; TypeError, ValueError or KeyError where it is none."""


@cache
def _reader(wanted: object) -> _Read:
    """Of a type, put together once: findings are read by the million."""
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return _optional(_reader(_present(wanted)))
    if origin is tuple:
        return _tuple(get_args(wanted))
    assert isinstance(wanted, type)
    if is_dataclass(wanted):
        return _object(wanted)
    return wanted if issubclass(wanted, Enum) else _exactly(cast("type", wanted))


def _exactly(wanted: type) -> _Read:
    def read(value: object) -> object:
        if type(value) is not wanted:
            raise TypeError(f"{type(value).__name__} stands where {wanted.__name__} should")
        return value

    return read


def _optional(present: _Read) -> _Read:
    return lambda value: None if value is None else present(value)


def _present(wanted: object) -> object:
    return next(option for option in get_args(wanted) if option is not NoneType)


def _tuple(hints: tuple[object, ...]) -> _Read:
    if hints[-1] is Ellipsis:
        item = _reader(hints[0])
        return lambda value: tuple(map(item, _list(value)))
    items = [_reader(hint) for hint in hints]
    return lambda value: tuple(read(one) for read, one in zip(items, _list(value), strict=True))


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"{type(value).__name__} stands where a list should")
    return cast("list[object]", value)


def _object(wanted: type) -> _Read:
    readers = [(name, _reader(hint)) for name, hint in get_type_hints(wanted).items()]
    names = {name for name, _ in readers}
    make = cast("Callable[..., object]", wanted)

    def read(value: object) -> object:
        fields = _mapping(value)
        made = make(*[field(fields[name]) for name, field in readers])
        if len(fields) != len(readers):
            raise TypeError(f"there is no field {min(fields.keys() - names)!r} in {wanted.__name__}")
        return made

    return read
