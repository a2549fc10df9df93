"""The last events of streams, of those that a fork cannot carry on, too: the run is over then, not lost."""

from __future__ import annotations

from collections.abc import Iterable

from tachograph.replay_workers._fork_draft import Draft, Failure, Payload
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import EndOutcome

STOPPED = "tachograph.ForkStopped"
"""The error in the last event of a stream that the fork could not carry on."""


def ending(unit: Unit, stream: StreamKey) -> str:
    """The type of a stream's last event."""
    return "RunFinished" if unit.kind == "run" and stream == unit.key else "AgentFinished"


def ending_fields(kind: str, outcome: EndOutcome) -> dict[str, object]:
    """Its fields without result and error."""
    fields: dict[str, object] = {"outcome": outcome.value}
    return fields | {"state_digest": None} if kind == "RunFinished" else fields


def stopped(why: str) -> Failure:
    """The error of a stream that the fork could not carry on."""
    return Failure(STOPPED, ("builtins.Exception",), why, None)


def lost_ends(unit: Unit, drafts: Iterable[Draft], why: str) -> list[Draft]:
    """The ends of the streams that a lost process left open; the unit's own comes last."""
    left: dict[StreamKey, Draft | None] = {unit.key: None}
    at = 0.0
    for draft in drafts:
        at = draft.at
        if draft.type == "AgentStarted":
            left[draft.stream] = draft
        elif draft.type in ("AgentFinished", "RunFinished"):
            left.pop(draft.stream, None)
    no_result: dict[str, Payload | None] = {"result": None}
    ends: list[Draft] = []
    for stream in reversed(tuple(left)):
        kind = ending(unit, stream)
        fields = ending_fields(kind, EndOutcome.ERROR)
        ends.append(Draft(stream, kind, at, None, fields, no_result, stopped(why)))
    return ends
