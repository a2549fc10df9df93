"""Plain data of unknown shape, looked at safely: what it is not is None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast


def as_mapping(value: object) -> Mapping[str, object] | None:
    """A mapping with text keys, as JSON objects are."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def as_items(value: object) -> Sequence[object] | None:
    """A list or a tuple."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else None


def as_text(value: object) -> str | None:
    """A text."""
    return value if isinstance(value, str) else None


def no_fields() -> dict[str, object]:
    """The default of a field that maps names to anything."""
    return {}
