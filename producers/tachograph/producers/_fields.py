"""Values of the boundary as the fields of an event."""

from __future__ import annotations

import dataclasses
from typing import cast

from tachograph.schemas import Usage

_INT_MAX = 2**63 - 1

_OPTIONAL = ("details", "usage", "version")
"""Fields of a call that an event can do without."""

_NAMES = ("name", "key", "role", "media_type")
"""Fields that an event must have."""


def details_fields(details: object) -> tuple[str, dict[str, object]]:
    """Details of a request or response as the codec takes a union's branch: its name and its fields."""
    return (f"tachograph.{type(details).__name__}", _fields_of(details))


def usage_fields(usage: object) -> dict[str, object]:
    """What a model call consumed; counts that cannot be are left out."""
    assert isinstance(usage, Usage)
    return {
        "input_tokens": _count(usage.input_tokens),
        "output_tokens": _count(usage.output_tokens),
        "cost_micros": _count(usage.cost_micros),
    }


def simplified(fields: dict[str, object]) -> dict[str, object]:
    """The fields of an event that the codec refuses, without what is optional and with texts for names."""
    made = dict(fields)
    for name in _OPTIONAL:
        if name in made:
            made[name] = None
    for name in _NAMES:
        if name in made:
            made[name] = str(made[name])
    key = made.get("idempotency_key")
    return made if key is None else made | {"idempotency_key": str(key)}


def _count(value: int | None) -> int | None:
    return int(value) if value is not None and 0 <= value <= _INT_MAX else None


def _fields_of(value: object) -> dict[str, object]:
    return {name: _plain(getattr(value, name)) for name in type(value).__slots__}  # type: ignore[attr-defined]  # slotted


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    return _fields_of(value) if dataclasses.is_dataclass(value) else value
