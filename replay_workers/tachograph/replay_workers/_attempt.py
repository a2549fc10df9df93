"""One attempt to replay a unit, in this process."""

from __future__ import annotations

from tachograph.core.errors import EntrypointNotFound
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._drive import drive
from tachograph.replay_workers._guard import guarded, ordered
from tachograph.replay_workers._halt import Halt
from tachograph.replay_workers._import import imported, source_of
from tachograph.replay_workers._output import Tail
from tachograph.replay_workers._outside import Outside
from tachograph.replay_workers._session import Session
from tachograph.replay_workers._spin import LastWords, spin_limited
from tachograph.replay_workers._unit import Attempt, Unit


def attempt(
    unit: Unit, outside: Outside, otherwise: Otherwise, output: Tail | None = None, words: LastWords | None = None
) -> Attempt:
    """Import a unit's entry point under the guard, drive it, and say what it showed."""
    session = Session(unit, outside, otherwise)
    ended: str | None = None
    driven = True
    with ordered(session), guarded(session), spin_limited(session, words):
        try:
            entrypoint = imported(unit.entrypoint, unit.code)
        except EntrypointNotFound as error:
            session.miss(str(error))
            driven = False
        except Halt:
            driven = False
        else:
            ended = drive(session, entrypoint)
    return Attempt(
        result=session.result(driven=driven),
        ended=ended,
        matched=session.matched,
        alternatives=tuple(session.schedule.alternatives),
        output=output.text() if output is not None else "",
        source=source_of(unit.entrypoint),
        spun=session.spun,
        otherwise=otherwise,
    )
