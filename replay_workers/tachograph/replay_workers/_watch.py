"""Notices reads of the outside that bypass the boundary, and finds the line of control logic that made them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Literal

from tachograph.replay_workers._frames import is_installed, is_ours, is_standard

Source = Literal["clock", "random", "id", "network", "file", "process"]

_INTERNAL = frozenset(
    {
        "_frozen_importlib", "_frozen_importlib_external", "asyncio", "concurrent", "encodings", "gettext", "importlib",
        "inspect", "linecache", "locale", "logging", "runpy", "tokenize", "threading", "traceback", "warnings",
        "zipimport", "zoneinfo",
    }
)  # fmt: skip
"""Modules of the standard library whose own reads decide nothing in control logic."""

_PLUGIN_LOADERS = frozenset({"pydantic.plugin._loader"})
"""pydantic looks for plug-ins when it first builds a model's schema: often in a tool, which a replay does not run."""

_BOOTSTRAP = "<frozen importlib._bootstrap>"

REMEDIES: dict[Source, str] = {
    "clock": "read the time with agent.now()",
    "random": "draw from agent.random('purpose')",
    "id": "take the id from agent.new_id()",
    "network": "put the request into a tool and call it with agent.call(tool, …)",
    "file": "put the file access into a tool and call it with agent.call(tool, …), or pass its content as an argument",
    "process": "pass the value as an argument of the entry point, or put the command into a tool",
}


@dataclass(frozen=True, slots=True)
class Noticed:
    """A read past the boundary."""

    what: str
    source: Source
    file: str
    line: int
    importing: bool
    """It was made while a module was imported."""


class Watch:
    """Reports each line that reads past the boundary once."""

    def __init__(self, report: Callable[[Noticed], None]) -> None:
        self._report = report
        self._seen: set[tuple[str, str, int]] = set()
        self._busy = False

    def read(self, what: str, source: Source, *, depth: int = 1, internal: bool = False) -> bool:
        """Something was read.

        Args:
            what: the function, as in `time.time`.
            source: what it reads.
            depth: frames between this call and the one that read.
            internal: whether it counts when the standard library did it on its own account.

        Returns:
            Whether control logic is to blame.
        """
        if self._busy:
            return False
        self._busy = True
        try:
            return self._noticed(what, source, sys._getframe(depth + 1), internal=internal)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        finally:
            self._busy = False

    def _noticed(self, what: str, source: Source, frame: FrameType, *, internal: bool) -> bool:
        culprit = _culprit(frame, internal=internal)
        if culprit is None:
            return False
        importing = _is_importing(culprit)
        file, line = culprit.f_code.co_filename, culprit.f_lineno
        if importing and is_installed(file) and not internal:
            return False
        once = (what.partition("[")[0], file, line)
        if once not in self._seen:
            self._seen.add(once)
            self._report(Noticed(what, source, file, line, importing))
        return True


def _culprit(frame: FrameType | None, *, internal: bool) -> FrameType | None:
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if is_ours(frame):
            return None
        if not internal and (name.partition(".")[0] in _INTERNAL or name in _PLUGIN_LOADERS):
            return None
        file = frame.f_code.co_filename
        if not file.startswith("<") and not is_standard(file):
            return frame
        frame = frame.f_back
    return None


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _BOOTSTRAP:
            return True
        frame = frame.f_back
    return False
