"""Starts a server: a few lines that become it. Run as a script, with nothing of Tachograph imported.

Arguments: `detached` or `tied`, the parent's process id, the working directory, the program and its arguments.
A tied server dies with the thread that started it, whatever ends that (PR_SET_PDEATHSIG, prctl(2)).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def _become() -> None:
    kind, parent, directory, *command = sys.argv[1:]
    os.setsid()
    if kind == "tied":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            sys.exit("the process that asked for this server is gone")
    os.chdir(directory)
    os.execv(command[0], command)  # noqa: S606 no shell is meant


if __name__ == "__main__":
    _become()
