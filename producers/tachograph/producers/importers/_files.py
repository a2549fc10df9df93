"""Reading the files to import: JSON, however broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import orjson

from tachograph.core.errors import UnreadableInput

FILE_BYTES_MAX = 256 * 1024 * 1024
"""A hundred times the largest public file; what is bigger is read in parts."""

Row = Mapping[str, object]
"""One run as its source tells it."""


def files_under(paths: Sequence[Path]) -> list[Path]:
    """The files themselves, and for a directory every `.json` file below it, in order of their names.

    Raises:
        UnreadableInput: there is no such file, or nothing to read in a directory.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        below = sorted(path.rglob("*.json"), key=_natural)
        if not below:
            raise UnreadableInput(str(path), "there is no .json file in this directory", "Give the files to import.")
        found += below
    return found


def rows_of(path: Path, remedy: str) -> list[object]:
    """The rows in a file: the items of its list, or the one object it is.

    Args:
        path: the file.
        remedy: what a person should give instead, when it is not readable.

    Raises:
        UnreadableInput: it is not there, empty, too big, or not JSON.
    """
    data = _bytes_of(path, remedy)
    if not data.strip():
        raise UnreadableInput(str(path), "the file is empty", remedy)
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UnreadableInput(str(path), f"it is not JSON: {error}", remedy) from error
    if isinstance(value, list):
        return cast("list[object]", value)
    if isinstance(value, dict):
        return [cast("object", value)]
    raise UnreadableInput(str(path), f"it holds {type(value).__name__} in place of a list or an object", remedy)


def numbered(rows: Sequence[object]) -> Iterator[tuple[str, object]]:
    """Rows with what to call them: nothing where there is only one."""
    for index, row in enumerate(rows):
        yield ("" if len(rows) == 1 else f" row {index}"), row


def _bytes_of(path: Path, remedy: str) -> bytes:
    try:
        size = path.stat().st_size
        if size > FILE_BYTES_MAX:
            raise UnreadableInput(str(path), f"it has {size} bytes, at most {FILE_BYTES_MAX} are read", "Split it.")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableInput(str(path), error.strerror or str(error), remedy) from error


def _natural(path: Path) -> tuple[str, int, str]:
    stem = path.stem
    return (str(path.parent), int(stem) if stem.isdecimal() else -1, stem)
