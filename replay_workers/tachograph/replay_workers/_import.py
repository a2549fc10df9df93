"""Imports an entry point in a replaying process."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from tachograph.core.errors import EntrypointNotFound
from tachograph.replay_workers._failure import described_error

SOURCE_FILES_MAX = 5_000
SOURCE_BYTES_MAX = 64 * 1024 * 1024
"""As in the input snapshot: larger packages are not digested."""


def imported(entrypoint: str, code: Sequence[str]) -> Callable[..., object]:
    """The function of an entry point, its code's directories standing first on `sys.path`.

    Raises:
        EntrypointNotFound: there is no such module or function, or importing it failed.
    """
    module_name, _, qualified = entrypoint.partition(":")
    for directory in reversed(code):
        if directory not in sys.path[:1]:
            sys.path.insert(0, directory)
    try:
        found: object = importlib.import_module(module_name)
    except BaseException as error:  # importing runs foreign code, which may raise anything
        raise EntrypointNotFound(entrypoint, "importing it raised {}: {}".format(*described_error(error))) from error
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise EntrypointNotFound(entrypoint, f"the module {module_name!r} has no function {qualified!r}")
    return found


def source_of(entrypoint: str) -> str | None:
    """The file of an imported entry point's module, or the directory of the package that the module belongs to."""
    name = entrypoint.partition(":")[0]
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str):
        return None
    path = Path(file).resolve()
    depth = name.count(".") + (path.stem == "__init__")
    root = path.parent
    for _ in range(depth):
        root = root.parent
    return str(root / name.split(".")[0] if depth else path)


@lru_cache(maxsize=64)
def code_digest(source: str) -> str | None:
    """The digest of code, made as the input snapshot of a recording makes it.

    SHA-256 over `name, NUL, size as text, NUL, bytes` of the file, or of each `.py` file of the package.
    """
    path = Path(source)
    digest = hashlib.sha256()
    left = SOURCE_BYTES_MAX
    try:
        for count, file in enumerate(_files(path)):
            left -= file.stat().st_size
            if left < 0 or count >= SOURCE_FILES_MAX:
                return None
            data = file.read_bytes()
            shown = file.name if file == path else file.relative_to(path).as_posix()
            digest.update(f"{shown}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    except OSError:
        return None
    return digest.hexdigest()


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
        return
    yield from sorted(path for path in source.rglob("*.py") if path.is_file())
