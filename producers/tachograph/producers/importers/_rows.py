"""Reading the fields of a row; a row that is not what it should be is refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tachograph.producers.importers._files import Row


class UnusableRow(Exception):
    """A row cannot be imported; the text says why, as the end of a sentence."""


def mapping(where: str, value: object) -> Row:
    """A JSON object."""
    if not isinstance(value, Mapping):
        raise UnusableRow(f"{where} is {_what(value)} in place of an object")
    return cast("Row", value)


def maybe_mapping(value: object) -> Row:
    """A JSON object, or an empty one in place of anything else."""
    return cast("Row", value) if isinstance(value, Mapping) else {}


def items(where: str, value: object) -> list[object]:
    """A JSON array with something in it."""
    if not isinstance(value, list):
        raise UnusableRow(f"{where} is {_what(value)} in place of a list")
    if not value:
        raise UnusableRow(f"{where} is empty")
    return cast("list[object]", value)


def text(where: str, value: object) -> str:
    """A JSON string."""
    if not isinstance(value, str):
        raise UnusableRow(f"{where} is {_what(value)} in place of text")
    return value


def optional_text(where: str, value: object) -> str:
    """A JSON string, or null or nothing for the empty one."""
    return "" if value is None else text(where, value)


def _what(value: object) -> str:
    if value is None:
        return "missing"
    return "an object" if isinstance(value, Mapping) else f"{type(value).__name__} {str(value)[:40]!r}"
