"""One fork of a unit, in the replaying process."""

from __future__ import annotations

from tachograph.core.errors import EntrypointNotFound
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._drive import drive
from tachograph.replay_workers._fork_change import Change
from tachograph.replay_workers._fork_ends import ending, ending_fields, stopped
from tachograph.replay_workers._fork_loop import ForkPolicy
from tachograph.replay_workers._fork_session import ForkSession
from tachograph.replay_workers._fork_tape import ForkTape
from tachograph.replay_workers._guard import guarded, ordered
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._import import imported, source_of
from tachograph.replay_workers._output import Tail
from tachograph.replay_workers._pipe import ChildPipe, Parent
from tachograph.replay_workers._spin import LastWords, spin_limited
from tachograph.replay_workers._unit import Attempt, Unit
from tachograph.schemas import EndOutcome


def forked(
    unit: Unit,
    pipe: ChildPipe,
    otherwise: Otherwise,
    change: Change,
    output: Tail | None = None,
    words: LastWords | None = None,
) -> Attempt:
    """Import a unit's entry point under the guard, drive it on a forking tape, and say what it showed."""
    session = ForkSession(unit, Parent(pipe), otherwise, change, pipe.ask)
    session.schedule.outside.is_known = False
    driven = True
    ended: str | None = None
    with ordered(session), guarded(session), spin_limited(session, words):
        try:
            entrypoint = imported(unit.entrypoint, unit.code)
        except EntrypointNotFound as error:
            session.stop(str(error).rstrip("."))
            driven = False
        except Halt:
            driven = False
        else:
            ended = drive(session, entrypoint, ForkTape(session, session.own()), ForkPolicy(session.schedule))
    session.close()
    _close_streams(session)
    session.log.flush()
    return Attempt(
        result=session.result(driven=driven),
        ended=ended or session.stopped,
        output=output.text() if output is not None else "",
        source=source_of(unit.entrypoint),
        spun=session.spun,
        otherwise=otherwise,
    )


def _close_streams(session: ForkSession) -> None:
    """Write the end of every stream that a halt left open."""
    failure = stopped(session.clean(session.stopped or "the fork ended here"))
    for stream in reversed(tuple(session.streams.values())):
        if not stream.ended:
            kind = ending(session.unit, stream.key)
            session.draft(stream, kind, ending_fields(kind, EndOutcome.ERROR), {"result": None}, error=failure)
