"""What a home opened is given back with the home, not when the next collection of cycles happens to come."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from tachograph.stores import Home


def descriptors(path: Path) -> int:
    """How many of this process's are of files below a path."""
    return sum(os.path.realpath(each).startswith(str(path)) for each in Path("/proc/self/fd").iterdir())


def test_homes_that_are_gone_hold_no_descriptor(tmp_path: Path) -> None:
    """However many were opened."""
    gc.disable()
    try:
        for _ in range(10):
            home = Home.open(tmp_path / "home", create=True)
            assert list(home.catalogue.runs()) == []
            assert descriptors(tmp_path) > 0
            del home
        assert descriptors(tmp_path) == 0
    finally:
        gc.enable()
