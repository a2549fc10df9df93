"""The guard around control logic in a replay: what bypasses the boundary is named with file and line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from tachograph.core.boundary import current_agent
from tachograph.core.replay import UnrecordedInput
from tachograph.replay_workers._guard_chance import chance_patches
from tachograph.replay_workers._guard_outside import guard_outside, outside_patches
from tachograph.replay_workers._guard_time import Patch, VirtualClock, time_patches
from tachograph.replay_workers._lent import lent_patches
from tachograph.replay_workers._session import Session
from tachograph.replay_workers._unordered import unordered_patches
from tachograph.replay_workers._watch import REMEDIES, Noticed, Watch


@contextmanager
def ordered(session: Session) -> Generator[None]:
    """Give an order to what asyncio leaves to addresses and threads, while control logic is imported and driven."""
    undo = [_applied(patch) for patch in (*unordered_patches(session.schedule), *lent_patches())]
    try:
        yield
    finally:
        _undone(undo)


@contextmanager
def guarded(session: Session) -> Generator[None]:
    """Watch over the process while control logic is imported and driven."""
    watch = Watch(lambda noticed: _report(session, noticed))
    schedule = session.schedule
    clock = VirtualClock(session.unit.started_at_us, lambda: schedule.now, schedule.advance)
    patches = [*time_patches(watch, clock), *chance_patches(watch), *outside_patches(watch)]
    undo = [_applied(patch) for patch in patches]
    guard_outside(watch)
    try:
        yield
    finally:
        guard_outside(None)
        _undone(undo)


def _applied(patch: Patch) -> Patch:
    owner, name, value = patch
    before = getattr(owner, name)
    setattr(owner, name, value)
    return owner, name, before


def _undone(undo: list[Patch]) -> None:
    for owner, name, value in reversed(undo):
        setattr(owner, name, value)


def _report(session: Session, noticed: Noticed) -> None:
    if noticed.importing and noticed.source in ("clock", "random", "id", "process"):
        session.taint(
            f"importing the control logic reads {noticed.what} at {noticed.file}:{noticed.line}; "
            f"its value is another one in every process"
        )
        return
    agent = current_agent()
    agent_id = agent.id if agent is not None else session.unit.key[0]
    session.read(
        UnrecordedInput(
            what=noticed.what,
            source=noticed.source,
            file=noticed.file,
            line=noticed.line,
            remedy=REMEDIES[noticed.source],
            agent_id=agent_id,
            after_step=session.steps_of(agent_id),
        )
    )
