"""The first divergence between two complete lists of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tachograph.core.replay._align import identity
from tachograph.core.replay._classify import LOOK_AHEAD_MAX, Place, classify, event_id_of
from tachograph.core.replay._fields import field_changes
from tachograph.core.replay._recorded import Fixture
from tachograph.core.replay._results import INPUTS, answer_kind, version_kind
from tachograph.core.replay._sentence import sentence
from tachograph.core.replay._values import Divergence, DivergenceKind, Step


def compare(
    recorded: Sequence[Step],
    replayed: Sequence[Step],
    *,
    run_id: str = "",
    complete: bool = True,
    fixtures: Sequence[Fixture | None] = (),
) -> Divergence | None:
    """The first place where two streams of one agent part; None if they do the same.

    Answers count: a call that was asked the same and answered otherwise is the divergence, not what follows from it.
    Clock, random and id reads give other values in any two runs; only what is done with them counts.

    Args:
        recorded: one stream, called the recording.
        replayed: the other, called the replay.
        run_id: of the recording, for the divergence's event id.
        complete: the replayed stream has ended; else it is held only against as much of the recording as it has.
        fixtures: beside the steps of the recording, what came back: a changed answer is as late as it came, for what was
            asked before it may have been answered otherwise because of it.
    """
    found: Divergence | None = None
    for position, (old, new) in enumerate(zip(recorded, replayed, strict=False)):
        if found is not None and old.hlc >= found.hlc:
            return found
        if identity(old) != identity(new):
            return _parted(recorded, replayed, position, run_id, complete=complete)
        kind = _changed(old, new)
        if kind is not None:
            came = fixtures[position] if position < len(fixtures) else None
            answered = _answered(old, new, kind, run_id, came)
            found = answered if found is None or answered.hlc < found.hlc else found
    if found is not None:
        return found
    common = min(len(recorded), len(replayed))
    if len(replayed) > common or (complete and len(recorded) > common):
        return _parted(recorded, replayed, common, run_id, complete=complete)
    return None


def _changed(old: Step, new: Step) -> DivergenceKind | None:
    if old.version != new.version:
        return version_kind(old.kind)
    if old.kind in INPUTS or old.kind == "end":
        return None
    same = old.result == new.result and old.outcome == new.outcome and old.error_type == new.error_type
    return None if same else answer_kind(old.kind)


def _answered(old: Step, new: Step, kind: DivergenceKind, run_id: str, came: Fixture | None) -> Divergence:
    found = Divergence(
        kind=kind,
        agent_id=old.agent_id,
        incarnation=old.incarnation,
        step=old.number,
        event_id=event_id_of(run_id, old),
        hlc=old.hlc if came is None else max(old.hlc, came.hlc),
        recorded=old,
        replayed=new,
        changes=field_changes(_answer(old), _answer(new)),
    )
    return replace(found, sentence=sentence(found))


def _answer(step: Step) -> bytes:
    """What came back, as one JSON value: the result alone, or how it failed."""
    if step.error_type is None and step.result is not None:
        return step.result
    outcome = step.outcome.encode() if step.outcome is not None else b""
    return b'{"error":"%s","outcome":"%s"}' % ((step.error_type or "").encode(), outcome)


def _parted(
    recorded: Sequence[Step], replayed: Sequence[Step], position: int, run_id: str, *, complete: bool
) -> Divergence:
    one = (recorded or replayed)[0]
    place = Place(run_id, one.agent_id, one.incarnation, recorded, position)
    tail = replayed[position : position + LOOK_AHEAD_MAX + 1]
    return classify(place, tail, complete=complete and position + len(tail) == len(replayed))
