"""A run's evidence: what there is to replay it from, and what is missing from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tachograph.core.errors import MissingBody
from tachograph.core.state import RunState, replayability, state_digest
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import Event, RunFinished

_NAMED_MAX = 20
"""Sentences of one kind; the rest is counted."""


@dataclass(slots=True)
class Evidence:
    """What there is to replay a run from."""

    run_id: str
    name: str = ""
    events: list[Event] = field(default_factory=list[Event])
    units: list[Unit] = field(default_factory=list[Unit])
    fidelity: str = "COMPLETE"
    missing: list[str] = field(default_factory=list[str])
    """Sentences: what evidence is not there."""
    taints: list[str] = field(default_factory=list[str])
    missing_body: MissingBody | None = None
    """The first body that is missing."""
    undriven: int = 0
    """Units that cannot be driven; `missing` says why."""
    skipped: set[tuple[StreamKey, int]] = field(default_factory=set[tuple[StreamKey, int]])
    """(stream, `seq`) of events of unknown types that may be skipped."""
    inputs: dict[str, object] = field(default_factory=dict[str, object])
    """The input snapshot of the run's entry point."""

    @property
    def code(self) -> str | None:
        """Digest of the recorded code, else its commit."""
        found = self.inputs.get("code_digest") or self.inputs.get("code_commit")
        return str(found) if found is not None else None

    def miss(self, text: str) -> None:
        """Note what evidence is not there."""
        if text in self.missing:
            return
        if len(self.missing) < _NAMED_MAX:
            self.missing.append(text)
        elif len(self.missing) == _NAMED_MAX:
            self.missing.append("More is missing than can be listed here; run `tacho verify` for the extent.")

    def judge(self, state: RunState) -> None:
        """Take in what all events add up to."""
        self._check_state(state)
        grade = replayability(state)
        self.fidelity = grade.grade.value
        self.missing[:0] = grade.missing

    def _check_state(self, state: RunState) -> None:
        """Hold the state that the events add up to against the one that the run's end states; older ends state none."""
        for event in self.events:
            if not isinstance(event, RunFinished) or event.state_digest is None or state.gaps or self.missing:
                continue
            if state_digest(state, event) != event.state_digest:
                name = event_name(event)
                self.miss(f"The state that the events up to {name} add up to is not the one that it states.")


def stream_of(event: Event) -> StreamKey:
    """The stream that an event belongs to."""
    return event.meta.agent_id, event.meta.incarnation


def event_name(event: Event) -> str:
    """An event's id as text."""
    meta = event.meta
    return f"{meta.run_id}/{meta.agent_id}#{meta.incarnation}.{meta.seq}"
