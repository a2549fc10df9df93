"""How a recording counts the turns of the event loop: what it says of each way in which a call can come back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from tachograph.core.boundary import (
    CANCELLED,
    CANCELLED_READY,
    IMMEDIATE,
    WAITED,
    Counted,
    Delivery,
    TurnCounter,
    split_gap,
    turns_of,
)


async def gives_way(turns: int) -> None:
    """Give way so often."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def counted(turns: TurnCounter, inner: Awaitable[object]) -> Delivery:
    """The delivery of a call, however it comes back."""
    call = Counted(inner, turns)
    with contextlib.suppress(asyncio.CancelledError, ZeroDivisionError):
        await call
    return turns.delivery(call.yields, call)


def on_a_loop(program: Callable[[TurnCounter], Awaitable[Delivery]]) -> Delivery:
    """The delivery that a program sees on a genuine loop."""

    async def main() -> Delivery:
        turns = TurnCounter()
        turns.start()
        return await program(turns)

    return asyncio.run(main())


async def at_once() -> int:
    """Never gives way."""
    return 1


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_bare_yields_are_counted(count: int) -> None:
    """A call that only gives way took so many turns, and nothing from outside."""
    assert on_a_loop(lambda turns: counted(turns, gives_way(count))) == Delivery(count, 0)


def test_a_call_that_does_not_give_way_is_immediate() -> None:
    """The very constant: nothing is made for it."""
    assert on_a_loop(lambda turns: counted(turns, at_once())) is IMMEDIATE


def test_waiting_for_tasks_that_wait_for_nothing_is_no_waiting() -> None:
    """`wait_for` and `gather` in a tool take turns; the world has no part in it."""

    async def tool() -> None:
        await asyncio.gather(gives_way(2), asyncio.wait_for(at_once(), 5))

    found = on_a_loop(lambda turns: counted(turns, tool()))
    assert found.yields > 2
    assert found.gap == 0


def test_an_answer_from_outside_is_waiting() -> None:
    """The loop ran dry: which turn it was says nothing, and nothing is said of it."""
    found = on_a_loop(lambda turns: counted(turns, asyncio.sleep(0.001)))
    assert found.yields == WAITED
    assert split_gap(found.gap).turns is None


def test_answers_that_come_together_say_so() -> None:
    """The second of two that come in one turn is zero turns behind the first."""

    async def program(turns: TurnCounter) -> Delivery:
        both = await asyncio.gather(counted(turns, asyncio.sleep(0.002)), counted(turns, asyncio.sleep(0.002)))
        return both[1]

    async def until_together() -> Delivery:
        for _ in range(50):  # the machine may put a turn between them
            turns = TurnCounter()
            turns.start()
            found = await program(turns)
            if split_gap(found.gap).turns == 0:
                return found
        raise AssertionError("two equal sleeps never ended in one turn")

    assert asyncio.run(until_together()).yields == WAITED


@pytest.mark.parametrize(
    ("tool", "yields"),
    [
        pytest.param(lambda: asyncio.sleep(60), CANCELLED, id="a future: in the turn after"),
        pytest.param(lambda: gives_way(1_000), CANCELLED_READY, id="a bare yield: in that turn"),
    ],
)
def test_a_cancelled_call_ends_at_once(tool: Callable[[], Awaitable[object]], yields: int) -> None:
    """When it hears of its cancellation depends on what it was at."""

    async def program(turns: TurnCounter) -> Delivery:
        task = asyncio.create_task(counted(turns, tool()))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    found = on_a_loop(program)
    assert found.yields <= yields
    assert yields - found.yields <= 1


def test_cleaning_up_after_a_cancellation_is_counted() -> None:
    """Three more turns, three less than CANCELLED."""

    async def cleans_up() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await gives_way(3)
            raise

    async def program(turns: TurnCounter) -> Delivery:
        task = asyncio.create_task(counted(turns, cleans_up()))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert on_a_loop(program) == Delivery(CANCELLED - 3, 0)


def test_an_error_is_counted_as_a_result_is() -> None:
    """The turns until it was raised."""

    async def fails() -> None:
        await gives_way(2)
        raise ZeroDivisionError

    assert on_a_loop(lambda turns: counted(turns, fails())) == Delivery(2, 0)


def test_a_loop_that_does_not_tell_its_turns_is_counted_roughly() -> None:
    """Bare yields still count; everything else is waiting, and apart."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        loop = runner.get_loop()
        selector, loop._selector = loop._selector, None  # type: ignore[attr-defined]
        assert not turns_of(loop).exact
        loop._selector = selector  # type: ignore[attr-defined]

        async def main() -> tuple[Delivery, Delivery]:
            turns = TurnCounter()
            turns.start()
            bare = await counted(turns, gives_way(2))
            return bare, await counted(turns, asyncio.gather(at_once()))

        bare, waited = runner.run(main())
    assert bare == Delivery(2, 0)
    assert waited.yields == WAITED
    assert split_gap(waited.gap).turns is None


def test_concurrent_units_on_one_loop_have_anchors_of_their_own() -> None:
    """What one unit waited for places nothing in another."""

    async def main() -> tuple[Delivery, Delivery]:
        first, second = TurnCounter(), TurnCounter()
        first.start()
        second.start()
        one = await counted(first, asyncio.sleep(0.001))
        other = await counted(second, gives_way(1))
        return one, other

    one, other = asyncio.run(main())
    assert one.yields == WAITED
    assert other == Delivery(1, 0)
