"""Progress bars, on standard error and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from tachograph.control._escape import escape
from tachograph.core.ports import Progress


def silent(done: int, total: int, what: str) -> None:
    """Progress that nobody sees."""


@contextmanager
def progress(task: str) -> Generator[Progress]:
    """A progress callback that draws a bar while the block runs."""
    if not sys.stderr.isatty():
        yield silent
        return
    with _bar(task) as shown:
        yield shown


@contextmanager
def _bar(task: str) -> Generator[Progress]:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:  # the bar is a comfort of the extra `control`: work goes on without it
        yield silent
        return
    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        handle = bar.add_task(task, total=None)

        def shown(done: int, total: int, what: str) -> None:
            bar.update(handle, completed=done, total=total or None, description=escape(what) or task)

        yield shown
