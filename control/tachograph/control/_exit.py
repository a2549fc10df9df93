"""Exit codes."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What `tacho` ends with."""

    OK = 0
    """Done; a replay reproduced, a verification found nothing."""
    DIFFERENT = 1
    """A replay diverged, runs differ, a verification found damage."""
    LIMITED = 2
    """Evidence or a service is missing, or the ledger refuses."""
    USAGE = 64
    """The command line cannot be understood or names what is not there."""
    INTERNAL = 70
    """The world or Tachograph failed."""
    INTERRUPTED = 130
    """Ctrl-C."""
    PIPE_CLOSED = 141
    """The reader of the output went away."""
