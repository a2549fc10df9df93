"""Drives a unit's entry point on a replaying tape."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import cast

from tachograph.core.boundary import Agent, Run, SyncAgent, controlled, ending, entered, left
from tachograph.core.canonical import decode_body
from tachograph.core.errors import UnreadableBody
from tachograph.replay_workers._failure import described_error
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._loop import VirtualLoop, VirtualPolicy
from tachograph.replay_workers._session import Session
from tachograph.replay_workers._tape import ReplayTape

_CLEAN_UP_TURNS_MAX = 100


def drive(
    session: Session,
    entrypoint: Callable[..., object],
    tape: ReplayTape | None = None,
    policy: VirtualPolicy | None = None,
) -> str | None:
    """Drive a unit; what it showed is in the session.

    Args:
        session: of the unit.
        entrypoint: its control logic.
        tape: the unit's own; by default one that replays.
        policy: makes the loops that control logic runs on.

    Returns:
        How control logic ended: `OK`, or the name and text of its error; None where it was stopped.
    """
    tape = tape or ReplayTape(session, session.own())
    try:
        args, kwargs = _arguments(session)
    except UnreadableBody as error:
        session.miss(f"The arguments of the entry point cannot be read: {error}")
        return None
    before = asyncio.get_event_loop_policy()  # pyright: ignore[reportDeprecated] from 3.14 on
    policy = policy or VirtualPolicy(session.schedule)
    asyncio.set_event_loop_policy(policy)  # pyright: ignore[reportDeprecated] from 3.14 on
    try:
        if inspect.iscoroutinefunction(entrypoint):
            _on_loop(session, policy.new_event_loop(), _asynchronous(session, tape, entrypoint, args, kwargs))
        else:
            _synchronous(session, tape, entrypoint, args, kwargs)
    except Halt:
        return None
    except BaseException as error:  # noqa: BLE001 whatever it is, it is how control logic ended
        return "{}: {}".format(*described_error(error))
    finally:
        asyncio.set_event_loop_policy(before)  # pyright: ignore[reportDeprecated] from 3.14 on
    return "OK"


def _arguments(session: Session) -> tuple[list[object], dict[str, object]]:
    unit = session.unit
    if unit.arguments_redacted:
        session.taint("control logic was given a token in place of a value in its arguments")
    given = cast("dict[str, object]", decode_body(unit.arguments))
    return cast("list[object]", given["args"]), cast("dict[str, object]", given["kwargs"])


def _synchronous(
    session: Session,
    tape: ReplayTape,
    entrypoint: Callable[..., object],
    args: list[object],
    kwargs: dict[str, object],
) -> object:
    face = Run(tape) if session.unit.kind == "run" else SyncAgent(tape)
    try:
        with controlled(tape), _current(face):
            value = entrypoint(face, *args, **kwargs)
    except BaseException as error:
        tape.close(ending(error))
        raise
    tape.close(ending(None, value))
    return value


async def _asynchronous(
    session: Session,
    tape: ReplayTape,
    entrypoint: Callable[..., object],
    args: list[object],
    kwargs: dict[str, object],
) -> object:
    face = Run(tape) if session.unit.kind == "run" else Agent(tape)
    try:
        session.schedule.start()
        with controlled(tape), _current(face):
            value = await cast("Coroutine[object, object, object]", entrypoint(face, *args, **kwargs))
    except BaseException as error:
        tape.close(ending(error))
        raise
    tape.close(ending(None, value))
    return value


def _on_loop(session: Session, loop: VirtualLoop, main: Coroutine[object, object, object]) -> object:
    try:
        asyncio.set_event_loop(loop)
        task = session.schedule.outside.main = loop.create_task(main)
        return loop.run_until_complete(task)
    except BaseException:
        if session.schedule.halted:  # whatever control logic made of it
            raise Halt from None
        raise
    finally:
        _clean_up(session, loop)
        asyncio.set_event_loop(None)
        loop.close()


def _clean_up(session: Session, loop: VirtualLoop) -> None:
    """Let what is left of control logic end; the boundary is shut by now."""
    session.schedule.close()
    loop.set_exception_handler(lambda _loop, _context: None)
    for _ in range(_CLEAN_UP_TURNS_MAX):
        tasks = asyncio.all_tasks(loop)
        if not tasks:
            break
        for task in tasks:
            task.cancel()
        loop.call_soon(loop.stop)
        loop.run_forever()
    loop.run_until_complete(loop.shutdown_asyncgens())


@contextmanager
def _current(face: Run | Agent | SyncAgent) -> Generator[None]:
    """Make an agent the current one; a run has none of its own."""
    if isinstance(face, Run):
        yield
        return
    token = entered(face)
    try:
        yield
    finally:
        left(token)
