"""One member of the pipeline as a process that can be killed: `pipeline_process.py ROLE PLACE [LEDGER]`, settings in TACHO_*.

ROLE `record`: records and ships until it is killed, and writes a line for each run that is durable. `ship`: carries what
dead processes left. `archive`, `fold`, `insights`: until SIGTERM. PLACE: of the home, or the processor.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Final

from pipeline import ledgered, run_role, work
from tachograph.producers import Recorder
from tachograph.producers.shipper import ship
from tachograph.stores.backend import backend_of

RUNS: Final = 30
"""Recorded at most before it waits for its end: what a slow machine can look through."""


def _say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def _record(home: Path, ledger: Path) -> None:
    with ledgered(ledger):
        recorder = Recorder(home, ship=backend_of())
        for number in range(RUNS):
            work(recorder, f"{os.getpid()}.{number}", large=20_000 if number % 4 == 0 else 0)
            recorder.flush()
            _say(str(number))
        signal.pause()


def _ship(home: Path) -> None:
    _say("started")
    _say(f"left {ship(home, backend_of(), lambda *_: None).waiting_bytes}")


def _process(role: str, directory: Path) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    _say("started")
    run_role(role, directory, backend_of(), stop)


def main(role: str, place: str, ledger: str = "") -> None:
    """Do what was asked for."""
    if role == "record":
        _record(Path(place), Path(ledger))
    elif role == "ship":
        _ship(Path(place))
    else:
        _process(role, Path(place))


if __name__ == "__main__":
    main(*sys.argv[1:])
