"""The loop without a world: asyncio's own behaviour, without waiting."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from tachograph.replay_workers import _loop
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._loop import Timer, VirtualLoop, VirtualPolicy
from tachograph.replay_workers._places import Order
from tachograph.replay_workers._schedule import SPIN_TURNS_MAX, Schedule
from tachograph.replay_workers._signal import Signal
from tachograph.replay_workers._unordered import OrderedSet


def run(main: Coroutine[Any, Any, Any]) -> Any:  # what the coroutine gives
    """What the coroutine gives on a loop of its own."""
    loop = VirtualLoop(Schedule(Order()))
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(main)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_time_passes_without_waiting() -> None:
    """An hour of sleep takes no time, and the loop's clock says it has passed."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        before = loop.time()
        await asyncio.sleep(3_600)
        return loop.time() - before

    began = time.perf_counter()
    assert run(main()) >= 3_600
    assert time.perf_counter() - began < 5


def test_timers_fire_in_the_order_of_their_moments() -> None:
    """Whatever the order in which they were set."""

    async def main() -> list[int]:
        order: list[int] = []

        async def after(seconds: int) -> None:
            await asyncio.sleep(seconds)
            order.append(seconds)

        await asyncio.gather(after(3), after(1), after(2))
        return order

    assert run(main()) == [1, 2, 3]


def test_a_cancelled_timer_never_fires() -> None:
    """A time-out that was not needed leaves nothing behind."""

    async def main() -> int:
        async with asyncio.timeout(5):
            await asyncio.sleep(1)
        return await asyncio.wait_for(asyncio.sleep(1, 7), 5)

    assert run(main()) == 7


def test_time_stands_still_within_a_turn() -> None:
    """Two readings without giving way are the same moment."""

    async def main() -> bool:
        loop = asyncio.get_running_loop()
        return loop.time() == loop.time()

    assert run(main())


def test_functions_for_other_threads_run_while_the_loop_rests() -> None:
    """Their results come a little later, and so do their errors."""

    async def main() -> tuple[int, str]:
        found = await asyncio.to_thread(lambda: 42)
        try:
            await asyncio.get_running_loop().run_in_executor(None, int, "x")
        except ValueError as error:
            return found, type(error).__name__
        return found, ""

    assert run(main()) == (42, "ValueError")


def test_a_thread_that_computes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes: a loop that has nothing to do gives up only threads that do nothing either."""
    monkeypatch.setattr(_loop, "_THREADS_WAIT_SECONDS", 0.02)

    async def main() -> str:
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def computes() -> None:
            until = time.process_time() + 0.2
            while time.process_time() < until:
                pass
            loop.call_soon_threadsafe(future.set_result, "computed")

        threading.Thread(target=computes).start()
        return str(await future)

    assert run(main()) == "computed"


def test_a_task_may_wake_another_one() -> None:
    """What one lets happen the other hears of when the first has given way: asyncio enters no task within a task."""

    async def main() -> list[str]:
        order: list[str] = []
        signal = Signal(Schedule(Order()), -1)

        async def waits() -> None:
            await signal
            order.append("heard")

        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        assert signal.give()
        signal.wake()
        order.append("told")
        await task
        return order

    assert run(main()) == ["told", "heard"]


def test_a_loop_in_a_thread_wakes_a_task_in_its_own_loop() -> None:
    """Whichever loop lets something happen: a task is only ever entered in its own thread."""

    async def main() -> bool:
        signal = Signal(Schedule(Order()), -1)
        here = threading.get_ident()

        async def waits() -> int:
            await signal
            return threading.get_ident()

        async def lets_it_happen() -> None:
            assert signal.give()
            signal.wake()

        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        await asyncio.to_thread(asyncio.run, lets_it_happen())
        return await task == here

    assert run(main())


def test_what_control_logic_spins_for_happens() -> None:
    """A loop that only gives way does not keep a timer from firing."""

    async def main() -> int:
        done = False
        spun = 0

        async def finish() -> None:
            nonlocal done
            await asyncio.sleep(1)
            done = True

        task = asyncio.create_task(finish())
        while not done:
            spun += 1
            await asyncio.sleep(0)
        await task
        return spun

    assert run(main()) <= 2 * SPIN_TURNS_MAX


def test_waiting_for_nothing_is_noticed() -> None:
    """Nobody can wake this one: the replay ends instead of hanging."""

    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    schedule = Schedule(Order())
    stalled: list[bool] = []
    schedule.stalled = lambda: stalled.append(True)
    loop = VirtualLoop(schedule)
    task = loop.create_task(main())
    with pytest.raises(Halt):
        loop.run_until_complete(task)
    assert stalled == [True]
    schedule.close()
    task.cancel()
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()


def test_tasks_in_a_set_come_in_the_order_they_were_made() -> None:
    """Addresses decide nothing: two replays walk a set of tasks alike."""

    async def main() -> list[str]:
        tasks = {asyncio.create_task(asyncio.sleep(0), name=str(number)) for number in range(8)}
        names = [task.get_name() for task in tasks]
        await asyncio.gather(*tasks)
        return names

    assert run(main()) == [str(number) for number in range(8)]


def test_asyncio_run_gets_a_virtual_loop() -> None:
    """Synchronous control logic that starts loops of its own does not wait either."""
    before = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(VirtualPolicy(Schedule(Order())))
    try:

        async def main() -> type:
            await asyncio.sleep(60)
            return type(asyncio.get_running_loop())

        assert asyncio.run(main()) is VirtualLoop
    finally:
        asyncio.set_event_loop_policy(before)


def test_the_private_parts_of_asyncio_are_as_they_are_used() -> None:
    """The loop, the counter of turns and the orders lean on these; a new Python that changes them fails here by name."""
    loop = asyncio.SelectorEventLoop()
    try:
        for name in (
            "_ready",
            "_scheduled",
            "_stopping",
            "_selector",
            "_run_once",
            "_process_events",
            "_write_to_self",
        ):
            assert hasattr(loop, name), name
        selector = loop._selector  # type: ignore[attr-defined]
        selector.select = selector.select  # can be put before
        timer = loop.call_later(1, int)
        assert timer._scheduled  # type: ignore[attr-defined]
        assert isinstance(asyncio.TaskGroup()._tasks, set)
        assert issubclass(Timer, asyncio.TimerHandle)
    finally:
        loop.close()


def test_a_set_in_an_order_is_still_a_set() -> None:
    """Walked, popped and compared."""
    found = OrderedSet(["c", "a", "b"])
    assert list(found) == ["c", "a", "b"]
    assert found == {"a", "b", "c"}
    assert found.pop() == "c"
    assert list(found) == ["a", "b"]
