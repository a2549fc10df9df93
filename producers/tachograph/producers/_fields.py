"""Values of the boundary as the fields of an event."""

from __future__ import annotations

import dataclasses
from typing import cast

from tachograph.schemas import RequestDetails, ResponseDetails, Usage

_INT_MAX = 2**63 - 1


def details_fields(details: RequestDetails | ResponseDetails | None) -> tuple[str, dict[str, object]] | None:
    """Details as the codec takes a union's branch: its name and its fields."""
    if details is None:
        return None
    cls = type(details)
    return (f"tachograph.{cls.__name__}", {name: _plain(getattr(details, name)) for name in cls.__slots__})


def usage_fields(usage: Usage | None) -> dict[str, object] | None:
    """What a model call consumed; counts that cannot be are left out."""
    if usage is None:
        return None
    return {
        "input_tokens": _count(usage.input_tokens),
        "output_tokens": _count(usage.output_tokens),
        "cost_micros": _count(usage.cost_micros),
    }


def _count(value: int | None) -> int | None:
    return int(value) if value is not None and 0 <= value <= _INT_MAX else None


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value
