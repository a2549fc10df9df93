"""Threads of control logic: those that open agents, and those that asyncio runs functions in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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


BLOCKING = """
async def answers(value):
    await asyncio.sleep(0.003)
    return value

async def desk(run):
    async with run.agent("clerk") as agent:
        async def beside():
            for number in range(5):
                await agent.call(answers, ["beside", number])

        task = asyncio.create_task(beside())
        found = await BLOCKING
        await task
        await agent.call(work, [found, *SEEN])
"""


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replays]:
    """A home to record in."""
    with ReplayProcess() as process:
        yield Replays(tmp_path_factory.mktemp("threads"), process)


@pytest.mark.parametrize(
    "blocking",
    [
        # A loop in the thread, without and with the boundary.
        "asyncio.to_thread(lambda: asyncio.run(answers(7)))",
        "asyncio.to_thread(lambda: asyncio.run(helped(run)))",
        # The thread gives its own loop something to do and waits for it.
        "asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(agent.call(answers, 7), LOOP).result())",
        "asyncio.to_thread(lambda: [asyncio.run_coroutine_threadsafe(answers(n), LOOP).result() for n in range(3)])",
        # And without waiting; the thread itself could not tell whether it was done already.
        "asyncio.to_thread(lambda: LOOP.call_soon_threadsafe(SEEN.append, 1) and None)",
        # No loop runs there, nor is there a current agent, unless the context goes along.
        "LOOP.run_in_executor(None, lambda: (str(current_agent()), str(asyncio._get_running_loop())))",
        "asyncio.to_thread(lambda: (current_agent().id, str(asyncio._get_running_loop())))",
    ],
)
def test_a_function_in_a_thread_does_what_it_did(replays: Replays, blocking: str) -> None:
    """A sync bridge into asyncio works in a replay as it did when it was recorded."""
    helped = """
async def helped(run):
    async with run.agent("helper") as agent:
        return await asyncio.gather(*(agent.call(answers, number) for number in range(3)))
"""
    source = BLOCKING.replace("BLOCKING", blocking).replace(
        "    async with", "    LOOP, SEEN = asyncio.get_running_loop(), []\n    async with"
    )
    reproduced(replays.replay(replays.record(source + helped)))
