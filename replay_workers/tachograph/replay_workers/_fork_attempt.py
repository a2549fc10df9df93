"""One fork of a unit, in the replaying process."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

from tachograph.core.errors import EntrypointNotFound
from tachograph.replay_workers._drive import _arguments, _asynchronous, _on_loop, _synchronous
from tachograph.replay_workers._failure import described_error
from tachograph.replay_workers._fork_change import Change
from tachograph.replay_workers._fork_draft import Failure
from tachograph.replay_workers._fork_session import ForkSession
from tachograph.replay_workers._fork_tape import ForkTape, ending_of, ending_type
from tachograph.replay_workers._guard import guarded, ordered
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._import import imported, source_of
from tachograph.replay_workers._loop import VirtualPolicy
from tachograph.replay_workers._output import Tail
from tachograph.replay_workers._pipe import ChildPipe, Parent
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._unit import Attempt, Unit
from tachograph.schemas import EndOutcome

_STOPPED = "tachograph.ForkStopped"
"""The error in the last event of a stream that the fork could not carry on."""


def forked(unit: Unit, pipe: ChildPipe, otherwise: Otherwise, change: Change, output: Tail | None = None) -> Attempt:
    """Import a unit's entry point under the guard, drive it on a forking tape, and say what it showed."""
    session = ForkSession(unit, Parent(pipe), otherwise, change, pipe.ask)
    driven = True
    ended: str | None = None
    with ordered(session), guarded(session):
        try:
            entrypoint = imported(unit.entrypoint, unit.code)
        except EntrypointNotFound as error:
            session.stop(str(error).rstrip("."))
            driven = False
        else:
            ended = _drive(session, entrypoint)
    session.close()
    _close_streams(session)
    session.log.flush()
    return Attempt(
        result=session.result(driven=driven),
        ended=ended or session.stopped,
        output=output.text() if output is not None else "",
        source=source_of(unit.entrypoint),
        otherwise=otherwise,
    )


def _drive(session: ForkSession, entrypoint: Callable[..., object]) -> str | None:
    tape = ForkTape(session, session.own())
    args, kwargs = _arguments(session)
    policy = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(VirtualPolicy(session.schedule))
    try:
        if inspect.iscoroutinefunction(entrypoint):
            _on_loop(session, _asynchronous(session, tape, entrypoint, args, kwargs))
        else:
            _synchronous(session, tape, entrypoint, args, kwargs)
    except Halt:
        return None
    except BaseException as error:  # noqa: BLE001 whatever it is, it is how control logic ended
        return "{}: {}".format(*described_error(error))
    finally:
        asyncio.set_event_loop_policy(policy)
    return "OK"


def _close_streams(session: ForkSession) -> None:
    """Write the end of every stream that a halt left open: the run is over, not lost."""
    why = session.stopped or "the fork ended here"
    for stream in reversed(tuple(session.streams.values())):
        if not stream.ended:
            fields, bodies = ending_of(stream, EndOutcome.ERROR, None)
            failure = Failure(_STOPPED, ("builtins.Exception",), session.clean(why), None)
            session.draft(stream, ending_type(stream), fields, bodies, error=failure)
