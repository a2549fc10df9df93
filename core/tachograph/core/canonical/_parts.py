"""What is written of a value that needs no codec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Parts(NamedTuple):
    """What is written of a value."""

    fields: object
    """A dict of its fields; a member's name or, where it has none, its value."""
    rest: dict[str, object] | None = None
    """What a model has besides its fields."""


class Kind(NamedTuple):
    """How the values of one class are written and made again."""

    name: str
    """`module:Qualname`."""
    parts: Callable[[object], Parts]
    made: Callable[[object, Mapping[str, object]], object]
    """From fields and rest.

    Raises:
        ValueError: they are not those of the class.
    """
