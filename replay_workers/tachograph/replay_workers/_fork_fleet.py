"""Forks every unit of a run, and again where another unit sends it something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from tachograph.core.ports import ForkOptions
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._evidence import Evidence
from tachograph.replay_workers._fork_change import Sent, change_json
from tachograph.replay_workers._fork_draft import Draft, draft_of
from tachograph.replay_workers._fork_ends import lost_ends
from tachograph.replay_workers._fork_letters import others, sent_by
from tachograph.replay_workers._fork_plan import Planned
from tachograph.replay_workers._process import ProcessLost, ReplayProcess, asked_bytes, digest_answer
from tachograph.replay_workers._replay import head_of, undriven
from tachograph.replay_workers._result_json import attempt_of, otherwise_json
from tachograph.replay_workers._search import reproduced
from tachograph.replay_workers._unit import Attempt, Unit
from tachograph.replay_workers._wire import Frame, Json
from tachograph.replay_workers._wire_unit import unit_frames
from tachograph.stores import Home

ROUNDS_MAX = 16
"""How often messages may go back and forth between units; each round drives every unit again that gets something else."""


@dataclass(frozen=True, slots=True)
class Forked:
    """A unit that was forked."""

    planned: Planned
    attempt: Attempt
    drafts: list[Draft]
    inexact: tuple[str, ...] = ()
    """Sentences: what keeps already the parent from being replayed exactly."""
    lost: bool = False
    """Its process was lost on the way."""


class Fleet:
    """The units of a run while they are forked, by one replaying process."""

    def __init__(self, home: Home, evidence: Evidence, options: ForkOptions, process: ReplayProcess) -> None:
        self._home = home
        self._evidence = evidence
        self._options = options
        self._process = process
        self._drafts: list[Draft] = []

    def forked(self, planned: Sequence[Planned]) -> list[Forked]:
        """Fork the units, until every message is delivered."""
        parents = [self._parent(one) for one in planned]
        units = [self._forked(one, parent) for one, parent in zip(planned, parents, strict=True)]
        for _ in range(ROUNDS_MAX):
            again = [(index, following) for index, one in enumerate(units) if (following := _following(one, units))]
            if not again:
                return units
            for index, following in again:
                units[index] = self._forked(following, parents[index])
        text = (
            f"agents sent each other other messages for more than {ROUNDS_MAX} rounds; the last ones were not delivered"
        )
        return [replace(one, inexact=(*one.inexact, text)) for one in units]

    def _parent(self, planned: Planned) -> Attempt | None:
        """The replay of the parent: what its recording leaves open is found there, for the fork has nothing to be held to."""
        try:
            return reproduced(lambda otherwise: self._run(planned.recorded, otherwise, {}))
        except ProcessLost:
            return None

    def _forked(self, planned: Planned, parent: Attempt | None) -> Forked:
        drafts: list[Draft] = []
        self._drafts = drafts
        otherwise = parent.otherwise if parent is not None else Otherwise()
        gone = False
        try:
            attempt = self._run(planned.driven, otherwise, {"fork": change_json(planned.change)})
        except ProcessLost as lost:
            gone = True
            reason = f"The fork of {planned.recorded.key[0]!r} was given up: {lost}."
            attempt = Attempt(undriven(planned.recorded, reason), f"ProcessLost: {lost}")
            drafts += lost_ends(planned.driven, drafts, f"ProcessLost: {lost}")
        found = parent.result.divergences if parent is not None and parent.result.driven else ()
        inexact = tuple(f"already the replay of the parent leaves its recording: {one.sentence}" for one in found[:1])
        return Forked(planned, attempt, drafts, inexact, gone)

    def _run(self, unit: Unit, otherwise: Otherwise, extra: Frame) -> Attempt:
        frames = unit_frames(unit, {"otherwise": otherwise_json(otherwise), **extra})
        return attempt_of(self._process.run(frames, self._answer, self._options.seconds_max), otherwise)

    def _answer(self, question: Frame) -> Frame:
        if question["ask"] == "digest":
            return digest_answer(self._home.digester.digest(asked_bytes(question)))
        if question["ask"] == "events":
            self._drafts.extend(draft_of(one) for one in cast("list[Json]", question["events"]))
            return {}
        return {"context": head_of(self._evidence.events, question).to_text()}


def _following(one: Forked, units: Sequence[Forked]) -> Planned | None:
    """The unit with what the others send it now; None where that is what it got already."""
    planned = one.planned
    sent: list[Sent] = []
    for other in units:
        if other is not one and other.planned.change.changed:
            sent += sent_by(other.planned.recorded.key, other.drafts)
    arrivals = others(planned.letters, sent)
    change = planned.change
    if arrivals == change.arrivals:
        return None
    from_hlc = min(planned.clocks[key] for key in arrivals) if arrivals else change.from_hlc
    if planned.change.changed:
        from_hlc = min(from_hlc, change.from_hlc)
    return replace(planned, change=replace(change, changed=True, from_hlc=from_hlc, arrivals=arrivals))
