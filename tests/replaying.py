"""Replays in this process, for tests that look at many or look closely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tachograph.core.boundary import RunContext
from tachograph.core.canonical import Digester
from tachograph.core.replay import Divergence, Verdict, verdict
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._drive import drive
from tachograph.replay_workers._evidence import Evidence
from tachograph.replay_workers._guard import guarded, ordered
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._reading import evidence_of
from tachograph.replay_workers._search import reproduced
from tachograph.replay_workers._session import Session
from tachograph.replay_workers._unit import Attempt, Unit
from tachograph.stores import Home

Entrypoint = Callable[..., object]


class Parent:
    """Answers what a replay asks its parent."""

    def __init__(self, tokens: Digester) -> None:
        self.tokens = tokens

    def head(self, stream: StreamKey, seq: int) -> RunContext:
        raise AssertionError(f"no program here hands on its context, yet {stream} at {seq} was asked for")


def evidence(home: Path, run_id: str) -> tuple[Home, Evidence]:
    """A run's evidence."""
    opened = Home.open(home)
    return opened, evidence_of(opened, run_id)


def attempted(
    home: Home, unit: Unit, entrypoint: Entrypoint, otherwise: Otherwise | None = None, *, guard: bool = False
) -> Attempt:
    """One attempt at one unit."""
    session = Session(unit, Parent(home.digester), otherwise)
    with ordered(session):
        if guard:
            with guarded(session):
                ended = drive(session, entrypoint)
        else:
            ended = drive(session, entrypoint)
    alternatives = tuple(session.schedule.alternatives)
    return Attempt(session.result(), ended, session.matched, alternatives, otherwise=otherwise or Otherwise())


def replayed(home: Path, run_id: str, entrypoint: Entrypoint, *, guard: bool = False) -> tuple[Verdict, Attempt]:
    """Replay a run of one unit; what its recording leaves open is searched for."""
    opened, found = evidence(home, run_id)
    (unit,) = found.units
    best = reproduced(lambda otherwise: attempted(opened, unit, entrypoint, otherwise, guard=guard))
    return verdict([best.result], fidelity=found.fidelity, missing=found.missing), best


def in_causal_order(divergences: Sequence[Divergence]) -> list[Divergence]:
    """The earliest first."""
    return sorted(divergences, key=lambda found: found.hlc)
