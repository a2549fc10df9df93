"""What a run's evidence is good for, and what is missing from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tachograph.core.state._model import AgentState, RunState
from tachograph.schemas import ROOT_AGENT_ID, Fidelity

_NAMED_MAX = 20
"""Results named one by one; the rest is counted."""

_WORSE = (
    Fidelity.COMPLETE,
    Fidelity.CONTROL_FLOW,
    Fidelity.TRUNCATED,
    Fidelity.TOOLS_ONLY,
    Fidelity.SPANS_ONLY,
)
"""Grades, the best first."""


@dataclass(frozen=True, slots=True)
class Replayability:
    """A grade, and the reasons why it is no better."""

    grade: Fidelity
    missing: tuple[str, ...]
    """Sentences: what evidence is not there."""


def replayability(state: RunState) -> Replayability:
    """What the evidence is good for: COMPLETE only where nothing is missing."""
    gaps = [*_imported(state), *_broken_off(state), *_holes(state), *_unrecorded(state), *_no_entrypoint(state)]
    grade = max((gap[0] for gap in gaps), key=_WORSE.index, default=Fidelity.COMPLETE)
    return Replayability(grade, tuple(text for _, text in gaps if text))


_Gap = tuple[Fidelity, str]


def _imported(state: RunState) -> Iterator[_Gap]:
    if state.imported is None:
        return
    source, fidelity, missing = state.imported
    yield fidelity, ""
    for what in missing:
        yield fidelity, f"The source {source} does not carry {what}."


def _broken_off(state: RunState) -> Iterator[_Gap]:
    if state.status == "UNSEEN":
        yield Fidelity.TRUNCATED, "The run's first event is not there."
    elif state.status == "RUNNING":
        yield Fidelity.TRUNCATED, "The run has no end: it is still running, or its recorder died."
    for agent in _sorted(state):
        if agent.acts and agent.status == "RUNNING" and agent.agent_id != ROOT_AGENT_ID:
            what = "process" if agent.joined else "stream"
            yield Fidelity.TRUNCATED, f"The {what} of agent {agent.agent_id!r} breaks off after event {agent.seq}."


def _holes(state: RunState) -> Iterator[_Gap]:
    for agent_id, incarnation, first, last in sorted(state.gaps):
        span = f"event {first} is" if first == last else f"events {first} to {last} are"
        yield Fidelity.TRUNCATED, f"In the stream of agent {agent_id!r}, incarnation {incarnation}, {span} missing."
    if state.erased:
        count = len(state.erased)
        yield Fidelity.CONTROL_FLOW, f"{count} {'body was' if count == 1 else 'bodies were'} erased on request."


def _unrecorded(state: RunState) -> Iterator[_Gap]:
    for event_id, reason in sorted(state.unrecorded.items())[:_NAMED_MAX]:
        yield Fidelity.CONTROL_FLOW, f"The result of the call that ended in {event_id} was not recorded: {reason}."
    more = len(state.unrecorded) - _NAMED_MAX
    if more > 0:
        yield Fidelity.CONTROL_FLOW, f"{more} more results were not recorded."


def _no_entrypoint(state: RunState) -> Iterator[_Gap]:
    if state.status != "UNSEEN" and state.entrypoint is None:
        yield Fidelity.TOOLS_ONLY, "The run has no importable entry point, so its control logic cannot be re-driven."
    for agent in _sorted(state):
        if agent.joined and agent.entrypoint is None:
            yield Fidelity.TOOLS_ONLY, f"The process of agent {agent.agent_id!r} has no importable entry point."


def _sorted(state: RunState) -> list[AgentState]:
    return [state.agents[key] for key in sorted(state.agents)]
