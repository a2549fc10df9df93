"""Looking into values of which nothing is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether fields can be read from it by name."""
    return isinstance(value, Mapping)


def is_row(value: object) -> TypeGuard[Sequence[object]]:
    """Whether it is a list or a tuple."""
    return isinstance(value, list | tuple)
