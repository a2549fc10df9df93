"""The ports behind the boundary: a tape is written by the recorder and read by the replayer.

Control logic holds an `Agent`; the agent holds a `Tape`; which of the two tapes it is, control logic cannot tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tachograph.core.boundary._values import Chunk, Delivery, Envelope, Fact, Outcome, Request, RunContext

if TYPE_CHECKING:
    from tachograph.core.boundary._turns import TurnCounter


class Passage(Protocol):
    """One call on its way through the boundary."""

    @property
    def live(self) -> bool:
        """Whether the function is to be executed (`leave`, then `finish`), or the outcome is served (`serve`)."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing more of it is recorded, because its agent has ended (live only)."""
        ...

    def leave(self) -> None:
        """Return once the call may leave: for an effect, when its record is durable.

        Raises:
            SpoolUnwritable: the record cannot be made durable; the effect must not be executed.
        """
        ...

    async def leave_async(self) -> None:
        """`leave` without blocking the event loop."""
        ...

    def chunk(self, value: object, delivery: Delivery) -> None:
        """Record one piece of a streamed result (live only)."""
        ...

    def finish(self, outcome: Outcome, delivery: Delivery) -> None:
        """Record how a live call came back, or that control logic stopped reading a stream (live or replayed)."""
        ...

    def next_chunk(self) -> Chunk | None:
        """The next recorded piece of a streamed result; None after the last (replay only)."""
        ...

    async def next_chunk_async(self) -> Chunk | None:
        """`next_chunk`, delivered on the event loop as it was recorded (replay only)."""
        ...

    def serve(self) -> Outcome:
        """The recorded outcome (replay only)."""
        ...

    async def serve_async(self) -> Outcome:
        """`serve`, delivered on the event loop as it was recorded (replay only)."""
        ...


class Sources(Protocol):
    """Where clock reads, random seeds and ids come from; only a live passage asks."""

    def now_us(self) -> int:
        """Wall time, microseconds since 1970."""
        ...

    def seed(self) -> int:
        """128 unguessable bits."""
        ...

    def new_id(self) -> str:
        """A fresh unguessable id."""
        ...


class Tape(Protocol):
    """One agent's stream."""

    @property
    def sources(self) -> Sources: ...

    @property
    def turns(self) -> TurnCounter:
        """The turn counter of the running event loop."""
        ...

    @property
    def run_id(self) -> str: ...

    @property
    def agent_id(self) -> str: ...

    def begin(self, request: Request) -> Passage:
        """A call goes out.

        Raises:
            UnserialisableValue: the arguments cannot be recorded.
            EffectRefused: the ledger refuses the effect; the refusal is recorded.
            AgentMisuse: the agent has ended.
        """
        ...

    def send(self, to_agent_id: str, body: object) -> Envelope | None:
        """A message goes out. None: it is replayed, there is nothing to deliver."""
        ...

    def deliver(self, envelope: Envelope) -> None:
        """Hand an envelope to the transport (live only)."""
        ...

    async def deliver_async(self, envelope: Envelope) -> None:
        """`deliver` without blocking the event loop."""
        ...

    def collect(self) -> Envelope:
        """Wait for the next envelope for this agent (live only)."""
        ...

    async def collect_async(self) -> Envelope:
        """`collect` without blocking the event loop."""
        ...

    def note(self, fact: Fact) -> None:
        """Control logic states a fact."""
        ...

    def open(self, name: str, role: str) -> Tape:
        """Open the stream of a child agent: AgentStarted with this stream's latest event as cause."""
        ...

    def close(self, outcome: Outcome) -> None:
        """End the stream: AgentFinished (RunFinished for the root, which ends every open stream first)."""
        ...

    def context(self) -> RunContext:
        """What another process needs to join the run here."""
        ...

    def set_timer(self) -> int:
        """Control logic sets a timer on its event loop: its number within the stream, from 1."""
        ...

    def timer_fired(self, number: int, delay_us: int) -> None:
        """A timer of control logic fires; what it sets off comes after this."""
        ...

    def told(self, logical_time_us: int) -> None:
        """The agent was told this time: later events carry it as logical time."""
        ...
