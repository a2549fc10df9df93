"""A divergence laid out for a page: both sides, what differs and where within it, and what may have been meant."""

from __future__ import annotations

from dataclasses import dataclass

from tachograph.core.replay import Divergence, FieldChange, Step, UnrecordedInput
from tachograph.replay_workers._report_plain import clip, payload_block, payload_text, plain
from tachograph.replay_workers._report_values import Kind

_PAYLOAD_CHARACTERS_MAX = 4_000
_RESULT_CHARACTERS_MAX = 1_500
_CHANGES_MAX = 20
_CANDIDATES_MAX = 5
_VALUE_CHARACTERS_MAX = 600
_LEAST_COMMON = 4
"""Fewer equal characters at both ends together are chance and not worth showing apart."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A value, with what differs in it apart."""

    before: str
    different: str
    after: str


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs."""

    path: str
    recorded: Excerpt | None
    """None where this side has no such field."""
    replayed: Excerpt | None


@dataclass(frozen=True, slots=True)
class Side:
    """What one side does at the place."""

    label: str
    meaning: str
    kind: str = ""
    name: str = ""
    version: str | None = None
    at: str | None = None
    """Where: the recorded event, or file and line of control logic."""
    arguments: str = ""
    outcome: str | None = None
    result: str = ""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A recorded step that may have been meant."""

    number: int
    kind: str
    name: str
    arguments: str
    changes: tuple[Change, ...]
    changes_left_out: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A divergence."""

    kind: str
    meaning: str
    agent_id: str
    step: int
    sentence: str
    event_id: str | None
    where: str | None
    """`file:line` in control logic."""
    sides: tuple[Side, Side]
    changes: tuple[Change, ...]
    changes_left_out: int
    candidates: tuple[Nearest, ...]
    read: UnrecordedInput | None


_MEANINGS = {
    "ARGUMENT_CHANGED": "the same call with other arguments",
    "CALL_EXTRA": "a call that the recording does not have",
    "CALL_MISSING": "a recorded call is left out",
    "REORDERED": "the same calls in another order",
    "EXHAUSTED": "a call is made more often than it was recorded",
    "MODEL_DECISION_CHANGED": "the model answered otherwise",
    "TOOL_CHANGED": "a tool answered otherwise, or is another version",
    "POLICY_CHANGED": "a policy decided otherwise, or is another version",
    "OUTCOME_CHANGED": "it ends otherwise",
    "STATE_CHANGED": "a state, a checkpoint or an artifact differs",
    "UNRECORDED_INPUT": "a read past the boundary came before it and is its cause",
}


def shown_divergence(divergence: Divergence, kind: Kind) -> Shown:
    """Lay a divergence out."""
    replayed = divergence.replayed
    candidates = divergence.candidates[:_CANDIDATES_MAX]
    return Shown(
        kind=divergence.kind.value,
        meaning=_MEANINGS.get(divergence.kind.value, ""),
        agent_id=divergence.agent_id,
        step=divergence.step,
        sentence=divergence.sentence,
        event_id=divergence.event_id,
        where=_where(replayed),
        sides=_sides(divergence, kind),
        changes=_changes(divergence.changes, _CHANGES_MAX),
        changes_left_out=max(len(divergence.changes) - _CHANGES_MAX, 0),
        candidates=tuple(
            Nearest(
                candidate.step.number,
                candidate.step.kind,
                candidate.step.name,
                payload_text(candidate.step.arguments, _VALUE_CHARACTERS_MAX),
                _changes(candidate.changes, 3),
                max(len(candidate.changes) - 3, 0),
            )
            for candidate in candidates
        ),
        read=divergence.unrecorded,
    )


def _where(step: Step | None) -> str | None:
    """Where control logic was, or raised; any other end is made where it is no more."""
    return step.where if step is not None and (step.kind != "end" or step.error_type) else None


def _sides(divergence: Divergence, kind: Kind) -> tuple[Side, Side]:
    recorded, replayed = ("Recording", "Replay") if kind == "replay" else ("Parent", "Fork")
    return (
        _side(recorded, "what happened", divergence.recorded, divergence.event_id),
        _side(
            replayed,
            "what the driven code does" if kind == "replay" else "what the fork does instead",
            divergence.replayed,
            _where(divergence.replayed),
        ),
    )


def _side(label: str, meaning: str, step: Step | None, at: str | None) -> Side:
    if step is None:
        return Side(label, meaning)
    return Side(
        label=label,
        meaning=meaning,
        kind=step.kind,
        name=step.name,
        version=step.version,
        at=at,
        arguments=payload_block(step.arguments, _PAYLOAD_CHARACTERS_MAX) if step.arguments != b"null" else "",
        outcome=step.outcome.value if step.outcome is not None else step.error_type,
        result=payload_block(step.result, _RESULT_CHARACTERS_MAX) if step.result is not None else "",
    )


def _changes(changes: tuple[FieldChange, ...], limit: int) -> tuple[Change, ...]:
    return tuple(_change(change) for change in changes[:limit])


def _change(change: FieldChange) -> Change:
    recorded, replayed = (clip(plain(text), _VALUE_CHARACTERS_MAX) for text in (change.recorded, change.replayed))
    if not recorded or not replayed:
        return Change(change.path, _whole(recorded), _whole(replayed))
    start = _common(recorded, replayed)
    end = _common(recorded[start:][::-1], replayed[start:][::-1])
    if start + end < _LEAST_COMMON:
        return Change(change.path, _whole(recorded), _whole(replayed))
    return Change(change.path, _apart(recorded, start, end), _apart(replayed, start, end))


def _common(one: str, other: str) -> int:
    """How many characters are the same at the start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))


def _whole(text: str) -> Excerpt | None:
    return Excerpt("", text, "") if text else None


def _apart(text: str, start: int, end: int) -> Excerpt:
    stop = len(text) - end
    return Excerpt(text[:start], text[start:stop], text[stop:])
