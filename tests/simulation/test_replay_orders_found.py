"""Orders within a turn of the event loop that random fleets found to come out differently in a replay."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from types import ModuleType

import pytest

from replays import Replays, imported, reproduced
from tachograph.producers import Recorder
from tachograph.replay_workers._process import ReplayProcess


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replays]:
    """A home to record in."""
    with ReplayProcess() as process:
        yield Replays(tmp_path_factory.mktemp("orders"), process)


CANCELLED_WHEN_DONE = """
async def part(turns):
    for _ in range(turns):
        await asyncio.sleep(0)

async def answers(turns):
    await asyncio.gather(part(turns), part(1))

async def desk(run):
    async with run.agent("clerk") as agent:
        for turns in range(14):
            seen = []

            async def asks():
                try:
                    await agent.call(answers, 3)
                finally:
                    seen.append("asked")

            async def beside(name):
                seen.append(name)

            task = asyncio.create_task(asks())
            for _ in range(turns):
                await asyncio.sleep(0)
            others = [asyncio.create_task(beside("before"))]
            task.cancel()
            others.append(asyncio.create_task(beside("after")))
            await asyncio.gather(task, *others, return_exceptions=True)
            agent.set_state("seen", seen)
"""


def test_a_call_that_was_done_when_it_was_cancelled_keeps_its_place(replays: Replays) -> None:
    """Its tasks had ended and it was about to go on: it hears of the cancellation where it would have gone on."""
    reproduced(replays.replay(replays.record(CANCELLED_WHEN_DONE)))


CANCELLED_TWICE = """
async def part(turns):
    for _ in range(turns):
        await asyncio.sleep(0)

async def answers(turns):
    await asyncio.gather(part(turns), part(1))

async def desk(run):
    async with run.agent("clerk") as agent:
        for first in range(4):
            for again in range(4):
                seen = []

                async def asks():
                    try:
                        await agent.call(answers, 6)
                    finally:
                        seen.append("asked")

                async def beside():
                    for turn in range(8):
                        seen.append(turn)
                        await asyncio.sleep(0)

                task, other = asyncio.create_task(asks()), asyncio.create_task(beside())
                for turns in (first + 1, again):
                    await part(turns)
                    task.cancel()
                await asyncio.gather(task, other, return_exceptions=True)
                agent.set_state("seen", seen)
"""


def test_a_call_that_is_cancelled_again_while_it_ends_keeps_its_place(replays: Replays) -> None:
    """It heard of the first cancellation: the second one tells it nothing."""
    reproduced(replays.replay(replays.record(CANCELLED_TWICE)))


CANCELLED_WHEN_SENT = """
async def desk(run):
    async with run.agent("clerk") as agent:
        for number in range(3):
            seen = []

            async def receives():
                try:
                    await agent.receive()
                finally:
                    seen.append("received")

            async def beside(name):
                seen.append(name)

            task = asyncio.create_task(receives())
            await asyncio.sleep(0.005)
            others = [asyncio.create_task(beside("before"))] if number else []
            await agent.send("clerk", number)
            others.append(asyncio.create_task(beside("between")))
            task.cancel()
            others.append(asyncio.create_task(beside("after")))
            await asyncio.gather(task, *others, return_exceptions=True)
            assert await agent.receive() == number
            agent.set_state("seen", seen)
"""


def test_a_receiver_that_a_message_came_for_when_it_was_cancelled_keeps_its_place(replays: Replays) -> None:
    """The message woke it: it hears of its cancellation right behind the sending, and the message is still there."""
    reproduced(replays.replay(replays.record(CANCELLED_WHEN_SENT)))


GIVEN_BACK = """
async def desk(run):
    async with run.agent("clerk") as agent:
        for pause in (0, 0, 0.005):
            seen = []

            async def receives(name):
                try:
                    seen.append([name, await agent.receive()])
                except asyncio.CancelledError:
                    seen.append([name, "cancelled"])

            async def beside(name):
                for turn in range(4):
                    seen.append([name, turn])
                    await asyncio.sleep(0)

            tasks = [asyncio.create_task(receives(name)) for name in ("first", "second")]
            for _ in range(3):
                await asyncio.sleep(pause)
            tasks.append(asyncio.create_task(beside("before")))
            await agent.send("clerk", pause)
            tasks.append(asyncio.create_task(beside("between")))
            tasks[0].cancel()
            tasks.append(asyncio.create_task(beside("after")))
            await asyncio.gather(*tasks)
            assert ["second", pause] in seen
            agent.set_state("seen", seen)
"""


def test_a_message_that_a_cancelled_receiver_gives_back_keeps_its_place(replays: Replays) -> None:
    """Who waits next for it hears of it behind the cancelled one, not where it would have heard of a new message."""
    reproduced(replays.replay(replays.record(GIVEN_BACK)))


BROUGHT_BETWEEN = """
class Outside:
    answer = None
    brought = staticmethod(lambda: None)

async def answers():
    Outside.answer = asyncio.get_running_loop().create_future()
    return await Outside.answer

async def desk(run):
    async with run.agent("clerk") as agent:
        seen = []

        async def asks():
            seen.append(await agent.call(answers))

        async def beside(name):
            for turn in range(6):
                if (name, turn) == ("second", 2):
                    Outside.brought()
                seen.append([name, turn])
                await asyncio.sleep(0)

        await asyncio.gather(asks(), *(beside(name) for name in ("first", "second", "third", "fourth")))
        agent.set_state("seen", seen)
"""


def test_what_a_thread_brings_between_two_tasks_is_found(replays: Replays) -> None:
    """A thread asks for no turn: what it brings may come amid what is ready, and a replay looks for the place."""

    async def recorded(recorder: Recorder, module: ModuleType) -> str:
        loop = asyncio.get_running_loop()

        def brought() -> None:
            thread = threading.Thread(
                target=loop.call_soon_threadsafe, args=(module.Outside.answer.set_result, "answer")
            )
            thread.start()
            thread.join()

        module.Outside.brought = brought
        await recorder.record(module.desk)
        assert recorder.latest_run_id is not None
        return recorder.latest_run_id

    with (
        imported(replays.code(f"import asyncio{BROUGHT_BETWEEN}")) as module,
        Recorder(replays.path / "home") as recorder,
    ):
        run_id = asyncio.run(recorded(recorder, module))
    reproduced(replays.replay(run_id))


LEFT_BEHIND = """
async def later(seconds):
    await asyncio.sleep(seconds)

async def leaves(run, left):
    async with run.agent("gone") as agent:
        left.append(asyncio.create_task(agent.call(later, 0.02)))
        await asyncio.sleep(0)

async def desk(run):
    left = []
    await leaves(run, left)
    async with run.agent("clerk") as agent:
        seen = []

        async def beside(seconds):
            await asyncio.sleep(seconds)
            for turn in range(4):
                seen.append([seconds, turn])
                await asyncio.sleep(0)

        async def busy():
            await asyncio.sleep(0.01)
            for turn in range(60):
                await asyncio.sleep(0)
                Outside.pause()
            await agent.call(later, 0)

        tasks = [asyncio.create_task(beside(seconds)) for seconds in (0.01, 0.025)]
        await asyncio.gather(busy(), *tasks)
        agent.set_state("seen", seen)

class Outside:
    pause = staticmethod(lambda: None)
"""


def test_what_comes_too_late_to_be_recorded_places_nothing(replays: Replays) -> None:
    """A call that outlives its agent is in no record: no timer's place is told from where it came back."""

    async def recorded(recorder: Recorder, module: ModuleType) -> str:
        module.Outside.pause = lambda: time.sleep(0.0005)
        await recorder.record(module.desk)
        assert recorder.latest_run_id is not None
        return recorder.latest_run_id

    with imported(replays.code(f"import asyncio{LEFT_BEHIND}")) as module, Recorder(replays.path / "home") as recorder:
        run_id = asyncio.run(recorded(recorder, module))
    reproduced(replays.replay(run_id))


SET_BEFORE_THE_FIRST_CALL = """
def desk(run):
    for number in range(2):
        asyncio.run(in_a_loop(run, number))

async def in_a_loop(run, number):
    async with run.agent(f"clerk{number}") as agent:
        seen = []

        async def early():
            await asyncio.sleep(0.001)
            seen.append("early")

        async def late():
            await agent.call(work)
            await asyncio.sleep(0.06)
            seen.append("late")

        await asyncio.gather(early(), late())
        agent.set_state("seen", seen)
"""


def test_a_timer_that_is_set_before_a_loops_first_call_keeps_its_place(replays: Replays) -> None:
    """A synchronous entry point runs loops of its own: their timers are seen from the opening of an agent on."""
    reproduced(replays.replay(replays.record(SET_BEFORE_THE_FIRST_CALL)))
