"""What a replay compares and what it proves, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from tachograph.schemas import CallKind, CallOutcome, EndOutcome, quick

StepKind = CallKind | Literal["send", "state", "checkpoint", "artifact", "agent", "end"]
"""A call's kind, or what else control logic does: send a message, set state, …, open an agent, end."""


class DivergenceKind(StrEnum):
    """What happened at the first place where a replay does not do what the recording did."""

    ARGUMENT_CHANGED = "ARGUMENT_CHANGED"
    CALL_EXTRA = "CALL_EXTRA"
    CALL_MISSING = "CALL_MISSING"
    REORDERED = "REORDERED"
    EXHAUSTED = "EXHAUSTED"
    MODEL_DECISION_CHANGED = "MODEL_DECISION_CHANGED"
    TOOL_CHANGED = "TOOL_CHANGED"
    POLICY_CHANGED = "POLICY_CHANGED"
    OUTCOME_CHANGED = "OUTCOME_CHANGED"
    STATE_CHANGED = "STATE_CHANGED"
    UNRECORDED_INPUT = "UNRECORDED_INPUT"


@quick
@dataclass(frozen=True, slots=True)
class Step:
    """One thing that control logic did, recorded or replayed."""

    agent_id: str
    incarnation: int
    number: int
    """1-based position among the steps of its stream."""
    kind: StepKind
    name: str
    key: bytes
    """Digest of its arguments, message or value: equal keys mean equal payloads."""
    arguments: bytes
    """The payload itself: canonical JSON after redaction."""
    version: str | None = None
    seq: int = 0
    """`seq` of its first event; 0 for a replayed step."""
    hlc: int = 0
    """Of its first event; 0 for a replayed step."""
    outcome: CallOutcome | EndOutcome | None = None
    """None where nothing comes back, or nothing came back."""
    result: bytes | None = None
    """Canonical JSON of what came back."""
    error_type: str | None = None
    where: str | None = None
    """`file:line` in control logic of a replayed step."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs."""

    path: str
    """As in `$.args[0].amount`."""
    recorded: str
    """JSON of the recorded value; empty where there is none."""
    replayed: str
    """JSON of the replayed value; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recorded step that the replayed one may have meant."""

    step: Step
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class UnrecordedInput:
    """A read of the outside that bypassed the boundary."""

    what: str
    """The function, as in `time.time`."""
    source: Literal["clock", "random", "id", "network", "file", "process"]
    file: str
    line: int
    remedy: str
    agent_id: str
    after_step: int
    """How many steps the agent had taken."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where a replay does not do what the recording did."""

    kind: DivergenceKind
    agent_id: str
    incarnation: int
    step: int
    """1-based step of the stream at which it happened."""
    event_id: str | None
    """The recorded event at this place, where there is one."""
    hlc: int
    recorded: Step | None
    replayed: Step | None
    changes: tuple[FieldChange, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    unrecorded: UnrecordedInput | None = None
    recorded_count: int | None = None
    """For EXHAUSTED: how often the recording has this call."""
    asked_count: int | None = None
    """For EXHAUSTED: how often the replay asked for it."""
    sentence: str = ""
    """One sentence for a person, saying which side is the recording."""


class VerdictStatus(StrEnum):
    """What a replay proved."""

    REPRODUCED = "reproduced"
    DIVERGED = "diverged"
    LIMITED = "limited"
    """Evidence is missing: nothing is claimed beyond the list."""


Level = Literal["reproduced", "diverged", "not_proved"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a replay proved, and at which level."""

    status: VerdictStatus
    control_flow: Level
    state: Level
    content: Level
    first_divergence: Divergence | None
    divergences: tuple[Divergence, ...] = ()
    """The first of each agent, in causal order."""
    fidelity: str = "COMPLETE"
    taints: tuple[str, ...] = ()
    """Sentences: any stub, live call, minor difference, token given in place of a value."""
    missing: tuple[str, ...] = ()
    """Sentences: what evidence is not there."""
    served: Mapping[str, int] = field(default_factory=dict[str, int])
    """Calls answered from the recording, by kind."""
    live: Mapping[str, int] = field(default_factory=dict[str, int])
    """Calls that left, by kind; an exact replay has none."""
    blocked: tuple[UnrecordedInput, ...] = ()
    """Reads of the outside that bypassed the boundary."""
    steps_recorded: int = 0
    steps_replayed: int = 0
    agents: int = 0
    recorded_code: str | None = None
    replayed_code: str | None = None
