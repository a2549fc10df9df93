"""What code was running: a digest of its source, its commit, its locked dependencies. Nothing is executed to find out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

SOURCE_FILES_MAX = 5_000
SOURCE_BYTES_MAX = 64 * 1024 * 1024
"""A package beyond either is not digested: its snapshot has a gap there."""

_LOCK_FILES = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.lock", "requirements.txt")
_LEVELS_MAX = 20


@lru_cache(maxsize=64)
def code_digest(source: Path) -> str | None:
    """SHA-256 over a module's source file, or over every `.py` file of a package directory; None where it cannot be.

    It is made over `name, NUL, size as text, NUL, bytes` of each file, names relative to the source and sorted. It is
    computed once per process: a process runs the code that it has loaded.
    """
    digest = hashlib.sha256()
    left = SOURCE_BYTES_MAX
    try:
        for count, path in enumerate(_files(source)):
            left -= path.stat().st_size
            if left < 0 or count >= SOURCE_FILES_MAX:
                return None
            data = path.read_bytes()
            name = path.name if path == source else path.relative_to(source).as_posix()
            digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    except OSError:
        return None
    return digest.hexdigest()


@lru_cache(maxsize=64)
def code_commit(source: Path) -> str | None:
    """The commit that is checked out where the source lies, read from `.git`; None where there is none."""
    try:
        git = _nearest(source, (".git",))
        if git is None:
            return None
        if git.is_file():  # a work tree: the file names the directory
            git = (git.parent / git.read_text().partition("gitdir:")[2].strip()).resolve()
        head = (git / "HEAD").read_text().strip()
        return head if not head.startswith("ref:") else _resolve(git, head.partition("ref:")[2].strip())
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def lock_digest(source: Path) -> str | None:
    """SHA-256 of the nearest file that locks dependencies; None where there is none."""
    try:
        found = _nearest(source, _LOCK_FILES)
        return None if found is None else hashlib.sha256(found.read_bytes()).hexdigest()
    except OSError:
        return None


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
        return
    yield from sorted(path for path in source.rglob("*.py") if path.is_file())


def _nearest(source: Path, names: tuple[str, ...]) -> Path | None:
    for directory in [source, *source.parents][:_LEVELS_MAX]:
        for name in names:
            if directory.is_dir() and (directory / name).exists():
                return directory / name
    return None


def _resolve(git: Path, reference: str) -> str | None:
    common = git / "commondir"
    for directory in (git, (git / common.read_text().strip()).resolve() if common.exists() else git):
        loose = directory / reference
        if loose.is_file():
            return loose.read_text().strip()
        packed = directory / "packed-refs"
        if packed.is_file():
            for line in packed.read_text().splitlines():
                commit, _, name = line.partition(" ")
                if name == reference:
                    return commit
    return None
