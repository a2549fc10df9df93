"""What holds for every test."""

from __future__ import annotations

import signal

# A test run that is started in the background ignores Ctrl-C, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
