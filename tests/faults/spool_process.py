"""A process that records and says what is durable: started by the fault tests, killed at every system call.

Arguments: the home's directory. After each batch that is durable, its number is written to standard output.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from chains import Chain, Clock
from tachograph.core.errors import TachographError
from tachograph.stores import Home

BATCHES = 6
SEGMENT_BYTES_MAX = 1200


def batches(home: Home) -> list[list[bytes]]:
    """What is recorded: the same for the same home. Two batches store a large body first."""
    chain = Chain("run-1", "run", Clock(), digester=home.digester, objects=home.objects)
    made = [[chain.run_started()]]
    for number in range(1, BATCHES - 1):
        value = f"{number} " * 9_000 if number % 2 else number
        made.append([chain.call_started(value=value), chain.call_finished(number)])
    return [*made, [chain.run_finished()]]


def tell(line: str) -> None:
    """Say something with a call that no fault is injected into."""
    os.writev(1, [f"{line}\n".encode()])


def main(path: Path) -> None:
    """Record, and tell."""
    home = Home.open(path, create=True)
    home.claim_incarnation("run-1", "run")
    writer = home.new_spool(segment_bytes_max=SEGMENT_BYTES_MAX)
    for number, payloads in enumerate(batches(home), 1):
        writer.append(payloads)
        writer.sync()
        tell(str(number))
    writer.close()
    tell("closed")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except TachographError as error:
        tell(f"{type(error).__name__}: {error}")
        sys.exit(3)
