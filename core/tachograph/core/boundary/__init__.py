"""The boundary: the only door between control logic and the outside.

Control logic holds a `Run` and its `Agent`s (`SyncAgent` without asyncio). Behind an agent stands a `Tape`, which a
recorder writes or a replayer reads; each call is a `Passage` through it. Requests and outcomes are plain values.
"""

from tachograph.core.boundary._agent import Agent
from tachograph.core.boundary._context import current_agent, entered, left
from tachograph.core.boundary._control import Outside, Waiting, control_tape, controlled, controlled_async, waiting_call
from tachograph.core.boundary._delivery import Counted
from tachograph.core.boundary._details import described
from tachograph.core.boundary._door import Door
from tachograph.core.boundary._failure import outcome_of_error, outcome_of_value, status_of_error
from tachograph.core.boundary._opening import Opening, ending
from tachograph.core.boundary._places import (
    CANCELLED,
    CANCELLED_READY,
    CANCELLED_WAITED,
    READY_AFTER,
    READY_WAITED,
    WAITED,
    Gap,
    split_gap,
)
from tachograph.core.boundary._run import Run
from tachograph.core.boundary._sync import SyncAgent
from tachograph.core.boundary._tape import Passage, Sources, Tape
from tachograph.core.boundary._tool import ToolSpec, spec_of, tool
from tachograph.core.boundary._turns import LoopTurns, TurnCounter, turns_of
from tachograph.core.boundary._values import (
    IMMEDIATE,
    Chunk,
    Delivery,
    Envelope,
    Fact,
    InputSnapshot,
    Outcome,
    Receipted,
    Request,
    RunContext,
)

__all__ = [
    "CANCELLED",
    "CANCELLED_READY",
    "CANCELLED_WAITED",
    "IMMEDIATE",
    "READY_AFTER",
    "READY_WAITED",
    "WAITED",
    "Agent",
    "Chunk",
    "Counted",
    "Delivery",
    "Door",
    "Envelope",
    "Fact",
    "Gap",
    "InputSnapshot",
    "LoopTurns",
    "Opening",
    "Outcome",
    "Outside",
    "Passage",
    "Receipted",
    "Request",
    "Run",
    "RunContext",
    "Sources",
    "SyncAgent",
    "Tape",
    "ToolSpec",
    "TurnCounter",
    "Waiting",
    "control_tape",
    "controlled",
    "controlled_async",
    "current_agent",
    "described",
    "ending",
    "entered",
    "left",
    "outcome_of_error",
    "outcome_of_value",
    "spec_of",
    "split_gap",
    "status_of_error",
    "tool",
    "turns_of",
    "waiting_call",
]
