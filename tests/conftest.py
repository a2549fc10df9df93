"""What holds for every test."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

# A test run that is started in the background ignores Ctrl-C, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

DESCRIPTORS_MAX = 300


def pytest_runtest_logfinish() -> None:
    """Clients of servers whose objects refer to each other go late in a process as full as this: their descriptors add up."""
    if sum(1 for _ in Path("/proc/self/fd").iterdir()) > DESCRIPTORS_MAX:
        gc.collect()
