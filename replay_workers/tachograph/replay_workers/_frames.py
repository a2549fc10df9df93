"""Whose code is on the stack: control logic's, the standard library's, or ours."""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache
from types import FrameType

_STDLIB = tuple(
    os.path.realpath(path) + os.sep
    for name in ("stdlib", "platstdlib")
    if (path := sysconfig.get_paths().get(name)) is not None
)
_SITE = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_OURS = (
    "tachograph.core", "tachograph.schemas", "tachograph.stores", "tachograph.producers._", "tachograph.replay_workers",
)  # fmt: skip
"""Not all producers: the harness and the demo are control logic."""


@lru_cache(maxsize=4096)
def is_standard(file: str) -> bool:
    """Whether a file belongs to the standard library."""
    if file.startswith("<frozen "):
        return True
    path = os.path.realpath(file)
    return path.startswith(_STDLIB) and not any(part in path for part in _SITE)


@lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Whether a file belongs to Python or to an installed distribution."""
    path = os.path.realpath(file)
    return path.startswith(_STDLIB) or any(part in path for part in _SITE)


def is_ours(frame: FrameType) -> bool:
    """Whether a frame is the machinery's, below control logic."""
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.startswith(_OURS)


def control_frame(frame: FrameType | None) -> FrameType | None:
    """The nearest frame of control logic."""
    while frame is not None and (is_ours(frame) or is_standard(frame.f_code.co_filename)):
        frame = frame.f_back
    return frame


def place_of(frame: FrameType | None) -> str | None:
    """`file:line` of the nearest frame of control logic."""
    found = control_frame(frame)
    return f"{found.f_code.co_filename}:{found.f_lineno}" if found is not None else None


def raised_at(error: BaseException) -> str | None:
    """`file:line` of the deepest frame of control logic that an error came through."""
    found = None
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_ours(frame) and not is_standard(frame.f_code.co_filename):
            found = f"{frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found
