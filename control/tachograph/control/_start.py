"""Where `tacho` starts: Ctrl-C ends it quietly from here on, while its modules are still being loaded, too."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
"""Not that of `typing`: a Ctrl-C that comes while it is loaded is nobody's yet."""
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INTERRUPTED = 130
"""The exit code of Ctrl-C; `ExitCode` is not loaded yet."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and never raises."""
    try:
        return _loaded()(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] # the shell closed it
            print("tacho: interrupted", file=sys.stderr)  # noqa: T201 the face of the command line
        return INTERRUPTED


def _loaded() -> Callable[[Sequence[str]], int]:
    """`invoke`, which takes long enough for a Ctrl-C to come.

    It waits until all is loaded: modules written in C crash where a signal raises while they are being loaded.
    """
    import signal  # Ctrl-C is heeded already

    came: list[int] = []
    heeded = signal.getsignal(signal.SIGINT)
    if heeded is signal.default_int_handler:
        try:
            signal.signal(signal.SIGINT, lambda number, _: came.append(number))
        except ValueError:  # only the main thread may, and only there Ctrl-C is raised
            heeded = None
    try:
        from tachograph.control._main import invoke
    finally:
        if heeded is signal.default_int_handler:
            signal.signal(signal.SIGINT, heeded)
    if came:
        raise KeyboardInterrupt
    return invoke
