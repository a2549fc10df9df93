"""What kind of divergence it is, from the rest of the recording and what the replay did instead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tachograph.core.causality import EventId
from tachograph.core.replay._align import Edit, first_edit, identity
from tachograph.core.replay._candidates import nearest
from tachograph.core.replay._fields import field_changes
from tachograph.core.replay._results import INPUTS
from tachograph.core.replay._sentence import read_sentence, sentence
from tachograph.core.replay._values import Candidate, Divergence, DivergenceKind, Step, StepKind, UnrecordedInput

LOOK_AHEAD_MAX = 16
"""Replayed steps looked at behind the first mismatch: enough to tell a change from a shift in anything but a recording
that repeats itself for longer than this."""

_RECORDED_MAX = 4 * (LOOK_AHEAD_MAX + 1)
"""Recorded steps held against them."""

_ASKED = frozenset({"model", "tool", "retrieval", "memory", "policy", "approval", "messages"})
"""Kinds whose answers can be used up; clock, random and id reads are inputs and an extra one is an extra read."""

_STATE = frozenset({"state", "checkpoint", "artifact"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which stream a replay left its recording."""

    run_id: str
    agent_id: str
    incarnation: int
    recorded: Sequence[Step]
    """All steps of the stream."""
    position: int
    """0-based index of the first recorded step that the replay did not take."""
    reached_hlc: int = 0
    """How far the replay had come in the recorded order, over all streams it can see."""


def classify(place: Place, replayed: Sequence[Step], *, complete: bool) -> Divergence:
    """The divergence at a place.

    Args:
        place: where strict matching stopped.
        replayed: what the replay did from there on; empty: it did nothing more.
        complete: it has ended or cannot go on; else it may yet do the rest of the recording.
    """
    window = _window(place, complete=complete)
    edit = first_edit(window, replayed, complete=complete)
    found = _divergence(place, _kind(place, replayed, edit), replayed)
    return replace(found, sentence=sentence(found))


def blame(divergence: Divergence, reads: Sequence[UnrecordedInput], related: Collection[str] = ()) -> Divergence:
    """The divergence, put down to a read that bypassed the boundary, where its agent made one before.

    The latest read before the divergence is blamed: what came between was still as recorded.

    Args:
        divergence: what was found.
        reads: in the order in which they were made.
        related: the agents that opened this one and those that it opened. They share its variables, so that a read of
            theirs is blamed where the agent itself made none.
    """
    cause = _cause(divergence, reads, related)
    if cause is None:
        return divergence
    what = divergence.sentence.replace(f" of agent {divergence.agent_id!r}", "", 1)
    if cause.agent_id != divergence.agent_id:
        what = divergence.sentence
    text = f"{read_sentence(cause)}; {what[:1].lower()}{what[1:]}"
    return replace(divergence, kind=DivergenceKind.UNRECORDED_INPUT, unrecorded=cause, sentence=text)


def _cause(
    divergence: Divergence, reads: Sequence[UnrecordedInput], related: Collection[str]
) -> UnrecordedInput | None:
    own = [read for read in reads if read.agent_id == divergence.agent_id and read.after_step < divergence.step]
    if own:
        return max(own, key=lambda read: read.after_step)
    return next((read for read in reversed(reads) if read.agent_id in related), None)


def event_id_of(run_id: str, step: Step | None) -> str | None:
    """The event that a recorded step begins with."""
    if step is None or step.seq == 0:
        return None
    return str(EventId(run_id, step.agent_id, step.incarnation, step.seq))


def changed_kind(kind: StepKind) -> DivergenceKind:
    """The divergence of a step whose payload changed."""
    if kind in _STATE:
        return DivergenceKind.STATE_CHANGED
    return DivergenceKind.OUTCOME_CHANGED if kind == "end" else DivergenceKind.ARGUMENT_CHANGED


def _window(place: Place, *, complete: bool) -> Sequence[Step]:
    rest = place.recorded[place.position :]
    if len(rest) <= _RECORDED_MAX:
        return rest
    end = rest[-1:] if complete and rest[-1].kind == "end" else ()
    return (*rest[:_RECORDED_MAX], *end)


def _kind(place: Place, replayed: Sequence[Step], edit: Edit) -> DivergenceKind:
    if edit is Edit.CHANGED:
        return changed_kind(replayed[0].kind)
    if edit is Edit.EXTRA:
        used_up = _is_used_up(place, replayed[0])
        return DivergenceKind.EXHAUSTED if used_up else DivergenceKind.CALL_EXTRA
    return DivergenceKind.REORDERED if edit is Edit.MOVED else DivergenceKind.CALL_MISSING


def _is_used_up(place: Place, step: Step) -> bool:
    if step.kind not in _ASKED:
        return False
    asked = identity(step)
    before = place.recorded[: place.position]
    return asked in map(identity, before) and asked not in map(identity, place.recorded[place.position :])


def _divergence(place: Place, kind: DivergenceKind, replayed: Sequence[Step]) -> Divergence:
    here = place.recorded[place.position] if place.position < len(place.recorded) else None
    step = replayed[0] if replayed else None
    paired = kind in (
        DivergenceKind.ARGUMENT_CHANGED,
        DivergenceKind.STATE_CHANGED,
        DivergenceKind.OUTCOME_CHANGED,
    )
    found = Divergence(
        kind=kind,
        agent_id=place.agent_id,
        incarnation=place.incarnation,
        step=place.position + 1,
        event_id=event_id_of(place.run_id, here),
        hlc=_hlc(place, kind, here),
        recorded=here,
        replayed=step,
    )
    if (
        kind is DivergenceKind.OUTCOME_CHANGED
        and here is not None
        and step is not None
        and here.outcome != step.outcome
    ):
        return found  # a result and an error have no fields in common
    if paired and here is not None and step is not None:
        changes = field_changes(here.arguments, step.arguments)
        return replace(found, changes=changes, candidates=_closer(place, step, len(changes)))
    if kind is DivergenceKind.CALL_EXTRA and step is not None and step.kind not in INPUTS:
        return replace(found, candidates=nearest(step, place.recorded, place.position))
    if kind is DivergenceKind.EXHAUSTED and step is not None:
        return _counted(found, place, replayed)
    return found


def _closer(place: Place, step: Step, changes: int) -> tuple[Candidate, ...]:
    """Other recorded steps that the changed one is closer to than to the one in its place."""
    others = nearest(step, place.recorded, place.position)
    return tuple(other for other in others if len(other.changes) < changes)


def _counted(found: Divergence, place: Place, replayed: Sequence[Step]) -> Divergence:
    asked = identity(replayed[0])
    recorded = sum(identity(step) == asked for step in place.recorded)
    more = sum(identity(step) == asked for step in replayed)
    return replace(found, recorded_count=recorded, asked_count=recorded + more)


def _hlc(place: Place, kind: DivergenceKind, here: Step | None) -> int:
    """When it happened: for an extra step the time the replay had reached, else the time of the recorded step."""
    extra = kind in (DivergenceKind.CALL_EXTRA, DivergenceKind.EXHAUSTED)
    before = place.recorded[place.position - 1].hlc if place.position else 0
    if here is None or extra:
        return max(place.reached_hlc, before)
    return here.hlc
