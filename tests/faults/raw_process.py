"""Records effects with addresses and keeps what redaction takes out; says what is acknowledged. To be run, and killed."""

from __future__ import annotations

import sys

from tachograph.core.boundary import Run
from tachograph.producers import Recorder, tool


@tool(effect="write")
def send(to: str) -> str:
    """The effect has left: its record is durable."""
    sys.stdout.write(f"sent {to}\n")
    sys.stdout.flush()
    return to


def control(run: Run, count: int) -> None:
    """Send some mails."""
    with run.agent("a") as agent:
        for number in range(count):
            agent.call(send, f"customer{number}@example.org")


if __name__ == "__main__":
    with Recorder(sys.argv[1], raw=True) as recorder:
        recorder.record(control, int(sys.argv[2]))
