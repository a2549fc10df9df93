"""Puts the files of a report in their place, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tachograph.core.errors import WorldError


class ReportUnwritable(WorldError):
    """A report cannot be written where it should be."""

    def __init__(self, directory: Path, reason: str) -> None:
        self.directory = directory
        super().__init__(
            f"cannot write the report to {str(directory)!r}: {reason}. Name another directory with `--report DIR`."
        )


def write_files(directory: Path, files: Mapping[str, str]) -> dict[str, Path]:
    """Write texts as `report.FORMAT`; what stood there before is replaced only by a whole file.

    Raises:
        ReportUnwritable: the operating system refuses.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return {kind: _replaced(directory / f"report.{kind}", text) for kind, text in files.items()}
    except OSError as error:
        raise ReportUnwritable(directory, error.strerror or str(error)) from error


def _replaced(path: Path, text: str) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path
