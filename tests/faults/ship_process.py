"""Processes that the fault tests kill: one ships a home, the other records and ships at the same time.

`ship_process.py ship HOME BOOTSTRAP PREFIX` ships in small windows, so that there are many places to die in;
`ship_process.py record HOME BOOTSTRAP PREFIX` records runs until it is killed, and writes a line for each that is durable.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from tachograph.producers import Recorder
from tachograph.producers.shipper import _transfer, ship
from tachograph.stores.backend import Backend, KafkaSettings


def ship_home(home: Path, backend: Backend) -> None:
    """Ship, a few events at a time."""
    _transfer.BATCH_BYTES_MAX = _transfer.WINDOW_BYTES_MAX = 4096  # type: ignore[misc]  # as a small machine might
    done = ship(home, backend, lambda _done, _all, _what: None)
    os.writev(1, [f"shipped {done.events}\n".encode()])


def record(home: Path, backend: Backend) -> None:
    """Record and ship until somebody ends this."""
    recorder = Recorder(home, ship=backend)
    for number in itertools.count():
        with recorder.run(f"run {number}") as run, run.agent("worker") as agent:
            for index in range(50):
                agent.call(len, f"{number} {index} " * 20)
        recorder.flush()
        os.writev(1, [f"{number}\n".encode()])


if __name__ == "__main__":
    what, path, bootstrap, prefix = sys.argv[1:]
    servers = Backend(kafka=KafkaSettings(bootstrap, topic_prefix=prefix))
    {"ship": ship_home, "record": record}[what](Path(path), servers)
