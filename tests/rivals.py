"""Control logic of processes that go for the same effects: run as `python rivals.py HOME FILE`, driven by its input."""

from __future__ import annotations

import sys
from pathlib import Path

from tachograph.core.boundary import Run
from tachograph.core.errors import EffectRefused
from tachograph.producers import Recorder, tool


@tool(effect="write", idempotency_key=lambda path, key: key)
def write_key(path: str, key: str) -> None:
    """An effect: a line in a file. Under the key `slow` it takes until there is a line of input."""
    with Path(path).open("a") as file:
        file.write(key + "\n")
    if key == "slow":
        print("on its way", flush=True)
        sys.stdin.readline()


def goes_for_every_key(run: Run, path: str) -> None:
    """One effect for each line of input; says what became of it."""
    with run.agent("rival") as agent:
        for line in iter(sys.stdin.readline, ""):
            try:
                agent.call(write_key, path, line.strip())
            except EffectRefused as refusal:
                print(f"{type(refusal).__name__} {getattr(refusal, 'effect_id', '')}", flush=True)
            else:
                print("done", flush=True)


def main(home: str, path: str) -> None:
    """Say when ready, then serve the input."""
    with Recorder(home) as recorder:
        print("ready", flush=True)
        recorder.record(goes_for_every_key, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
