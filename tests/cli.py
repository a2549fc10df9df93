"""Driving `tacho` in a test as a shell does: arguments in, exit code and both outputs back."""

from __future__ import annotations

import contextlib
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tachograph.control import main

COLUMNS = "120"
"""Of the screen: a test runner may think otherwise."""


@dataclass(frozen=True, slots=True)
class Done:
    """A finished invocation."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document that was printed."""
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed

    @property
    def result(self) -> dict[str, Any]:
        """The document's `result`."""
        found: dict[str, Any] = self.document["result"]
        return found


def tacho(*arguments: str | Path) -> Done:
    """Run one command in this process."""
    out, err = io.StringIO(), io.StringIO()
    wide = mock.patch.dict(os.environ, {"COLUMNS": COLUMNS})
    with wide, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Done(int(code), out.getvalue(), err.getvalue())
