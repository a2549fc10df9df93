"""Where `tacho` starts: Ctrl-C ends it quietly from here on, while its modules are still being loaded, too."""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""The exit code of Ctrl-C; `ExitCode` is not loaded yet."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and never raises."""
    try:
        from tachograph.control._main import invoke  # takes long enough for a Ctrl-C

        return invoke(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] # the shell closed it
            print("tacho: interrupted", file=sys.stderr)  # noqa: T201 the face of the command line
        return INTERRUPTED
