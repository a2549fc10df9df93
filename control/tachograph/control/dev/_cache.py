"""Where fetched servers are kept between runs, by version: whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

_MANIFEST = "files.json"


def cache_directory() -> Path:
    """The directory of this user: `$XDG_CACHE_HOME/tachograph/servers`, else below `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tachograph" / "servers"


def kept(cache: Path, name: str, make: Callable[[Path], None]) -> Path:
    """The directory `name` of the cache; made by `make`, in a temporary place, unless it is there and whole.

    One process at a time makes it, the others wait. What is damaged is made anew.
    """
    place = cache / name
    if _is_whole(place):
        return place
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache / f".{name}.lock"):
        if not _is_whole(place):
            _make(place, make)
    return place


def _make(place: Path, make: Callable[[Path], None]) -> None:
    _sweep(place)
    temporary = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        made = temporary / "made"
        made.mkdir()
        make(made)
        (made / _MANIFEST).write_text(json.dumps(_sizes(made)))
        if place.exists():
            place.rename(temporary / "damaged")
        made.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sweep(place: Path) -> None:
    """Remove what a killed process left: nobody else is at it while the lock is held."""
    for left in place.parent.glob(f".{place.name}.*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _alone(path: Path) -> Generator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _is_whole(place: Path) -> bool:
    """Whether every file is there in its length; a digest over 200 MB would cost more than a broker's start."""
    try:
        expected = cast("object", json.loads((place / _MANIFEST).read_text()))
        return expected == _sizes(place)
    except (OSError, ValueError):
        return False


def _sizes(directory: Path) -> dict[str, int]:
    files = (path for path in directory.rglob("*") if path.is_file() and path.name != _MANIFEST)
    return {str(path.relative_to(directory)): path.stat().st_size for path in sorted(files)}
