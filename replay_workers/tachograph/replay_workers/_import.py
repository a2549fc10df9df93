"""Imports an entry point in a replaying process."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from tachograph.core.errors import EntrypointNotFound
from tachograph.replay_workers._failure import described_error
from tachograph.replay_workers._guard_outside import Refused
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._loop import VirtualPolicy
from tachograph.replay_workers._places import Order
from tachograph.replay_workers._schedule import Schedule

SOURCE_FILES_MAX = 5_000
SOURCE_BYTES_MAX = 64 * 1024 * 1024
"""As in the input snapshot: larger packages are not digested."""

_UNGUARDED = 'A replay imports the module: put what starts a run or a program under `if __name__ == "__main__":`.'


def imported(entrypoint: str, code: Sequence[str]) -> Callable[..., object]:
    """The function of an entry point, its code's directories standing first on `sys.path`.

    Raises:
        EntrypointNotFound: there is no such module or function, or importing it failed.
    """
    module_name, _, qualified = entrypoint.partition(":")
    for directory in reversed(code):
        if directory not in sys.path[:1]:
            sys.path.insert(0, directory)
    with _own_loops() as stalled:
        try:
            found: object = importlib.import_module(module_name)
        except BaseException as error:  # importing runs foreign code, which may raise anything
            if isinstance(error, Halt) and not stalled:
                raise  # it was stopped at a limit, which is said
            raise EntrypointNotFound(entrypoint, *_why(error, module_name)) from error
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise EntrypointNotFound(entrypoint, f"the module {module_name!r} has no function {qualified!r}")
    return found


@contextmanager
def _own_loops() -> Generator[list[bool]]:
    """A module that runs a loop when it is imported does not wait either; filled where such a loop waits for ever."""
    stalled: list[bool] = []
    schedule = Schedule(Order())
    schedule.stalled = lambda: stalled.append(True)
    before = asyncio.get_event_loop_policy()  # pyright: ignore[reportDeprecated] from 3.14 on
    asyncio.set_event_loop_policy(VirtualPolicy(schedule))  # pyright: ignore[reportDeprecated] from 3.14 on
    try:
        yield stalled
    finally:
        asyncio.set_event_loop_policy(before)  # pyright: ignore[reportDeprecated] from 3.14 on


def _why(error: BaseException, module: str) -> tuple[str, str | None]:
    """Why importing a module failed, and what to do about it where its code is to blame."""
    line = _line_of(error, module)
    if isinstance(error, Halt):
        return f"importing it runs {line or 'code'}, which waits for ever", _UNGUARDED
    said = "{}: {}".format(*described_error(error))
    refused = next((one for one in _chain(error) if isinstance(one, Refused)), None)
    if line is None or refused is None:
        return f"importing it raised {said}", None
    return f"importing it runs {line}, which reaches for the outside and is refused ({refused.what})", _UNGUARDED


def _line_of(error: BaseException, module: str) -> str | None:
    """`the code at file:line` of the module's statement that failed; None if it was not one of its own."""
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == module:
            found = f"the code at {frame.f_code.co_filename}:{line}"
    return found


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


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
