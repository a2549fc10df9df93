"""Threads of control logic that each open an agent of their own."""

from __future__ import annotations

from pathlib import Path

from replays import Replays, reproduced
from tachograph.replay_workers._process import ReplayProcess

SOURCE = """
import threading

def part(run, number, before, after):
    before.wait()
    with run.agent(f"t{number}") as agent:
        after.set()
        for step in range(5):
            agent.call(work, [number, step])

def desk(run):
    gates = [threading.Event() for _ in range(4)]
    ORDER = [0, 1, 2]
    threads = []
    for place, number in enumerate(ORDER):
        threads.append(threading.Thread(target=part, args=(run, number, gates[place], gates[place + 1])))
    for thread in threads:
        thread.start()
    gates[0].set()
    for thread in threads:
        thread.join()
"""


def test_the_order_in_which_threads_open_agents_is_not_control_flow(tmp_path: Path) -> None:
    """Opens are matched by name: whichever thread was first in the recording, and whichever is in the replay."""
    free = SOURCE.replace("    before.wait()\n", "")
    with ReplayProcess() as process:
        replays = Replays(tmp_path, process)
        for order in ("[0, 1, 2]", "[2, 0, 1]", "[1, 2, 0]"):
            run_id = replays.record(SOURCE.replace("[0, 1, 2]", order))
            for _ in range(3):
                reproduced(replays.replay(run_id, free))
