"""A unit: one entry point invocation, with every stream opened under it. Units are what a replay drives."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tachograph.core.boundary import Envelope, Outcome, Sources, TurnCounter
from tachograph.core.canonical import encode_body
from tachograph.core.causality import check_id
from tachograph.core.effects import Ledger
from tachograph.core.errors import AgentMisuse, SpoolUnwritable, TachographError
from tachograph.core.ports import Transport
from tachograph.producers._directory import DirectoryTransport
from tachograph.producers._entry import Draft, Extra, NotStated, Stream
from tachograph.producers._failure import error_draft
from tachograph.producers._messages import LocalEnvelope
from tachograph.producers._tape import RecordingTape
from tachograph.schemas import CallOutcome, EndOutcome

if TYPE_CHECKING:
    from tachograph.producers._journal import Journal
    from tachograph.producers._life import Life

_LOG = logging.getLogger("tachograph.producers")

_CANCELLED = Outcome(CallOutcome.CANCELLED)


class Unit:
    """What the streams of one entry point invocation share.

    Args:
        life: the recorder's present life: journal, ledger, sources, transport.
        run_id: the run.
        kind: `run` for the invocation that started the run, `agent` for a process that joined it.
    """

    def __init__(self, life: Life, run_id: str, kind: Literal["run", "agent"]) -> None:
        self.run_id = run_id
        self.journal: Journal = life.journal
        self.ledger: Ledger = life.ledger
        self.sources: Sources = life.sources
        self.transport: Transport = life.transport
        self.clean = life.clean
        self.claim_effect = life.claim_effect
        self.encoded = life.encoded
        self.cleaned = life.cleaned
        self._life = life
        self._kind = kind
        self._tapes: dict[RecordingTape, None] = {}
        self._streams: list[Stream] = []
        self._attempts: dict[tuple[str, str], int] = {}
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, TurnCounter] = weakref.WeakKeyDictionary()
        self._has_warned = False
        self._latest_turns: tuple[asyncio.AbstractEventLoop, TurnCounter] | None = None
        self._top: RecordingTape | None = None

    @property
    def turns(self) -> TurnCounter:
        """The turn counter of the running event loop: one per unit, since a replay drives one unit alone."""
        loop = asyncio.get_running_loop()
        latest = self._latest_turns
        if latest is not None and latest[0] is loop:
            return latest[1]
        counter = self._turns.get(loop)
        if counter is None:
            counter = self._turns[loop] = TurnCounter()
        elif latest is not None and latest[0].is_running():
            self._warn_of_loops()
        self._latest_turns = (loop, counter)
        return counter

    def _warn_of_loops(self) -> None:
        """Loops that take turns at the same time do so in an order that nobody can see."""
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning(
                "tachograph: run %r has several event loops that go on at the same time, and a replay may let them go on "
                "in another order and diverge; run its agents on one loop, or one loop after the other",
                self.run_id,
            )

    def start(self, agent_id: str, incarnation: int, first: Draft) -> RecordingTape:
        """Open the unit's own stream with its first event."""
        tape = self._opened(Stream(self.run_id, agent_id, incarnation), first)
        self._top = tape
        self._life.unit_began(self.run_id)
        return tape

    def open_child(self, parent: RecordingTape, name: str, role: str) -> RecordingTape:
        """Open the stream of a child agent.

        Raises:
            InvalidIdentifier: the name cannot be an agent's id.
            AgentMisuse: the parent has ended.
        """
        check_id("agent id", name)
        if parent.stream.ended:
            raise AgentMisuse.ended(parent.agent_id)
        first = Draft(
            "AgentStarted",
            {
                "role": role,
                "parent_agent_id": parent.agent_id,
                "entrypoint": None,
                "redaction": self._life.redaction_version,
                "arguments": None,
                "inputs": None,
            },
            Extra(causes=(parent.stream,)),
        )
        return self._opened(Stream(self.run_id, name, self._life.claim(self.run_id, name)), first)

    def close(self, tape: RecordingTape, outcome: Outcome) -> int:
        """End a stream; the unit's own ends every open stream first. Returns the ticket of the last event."""
        if tape.stream.ended:
            return 0
        if tape is self._top:
            for child in reversed(tuple(self._tapes)):
                if child is not tape:
                    self._end(child, "AgentFinished", _CANCELLED, ())
            self._life.unit_ended(self.run_id)
            causes = tuple(stream for stream in self._streams if stream is not tape.stream)
            return self._end(tape, "RunFinished" if self._kind == "run" else "AgentFinished", outcome, causes)
        return self._end(tape, "AgentFinished", outcome, ())

    def observe(self, hlc: int, agent_id: str) -> None:
        """A message from another process came in."""
        if not self.journal.observe(hlc):
            _LOG.warning(
                "tachograph: the clock of agent %r is more than a minute ahead and is not adopted; set its clock",
                agent_id,
            )

    def settled(self, envelope: Envelope) -> Callable[[], None] | None:
        """What to do once a message's reception is recorded."""
        transport = self.transport
        if isinstance(envelope, LocalEnvelope) or not isinstance(transport, DirectoryTransport):
            return None
        return lambda: _settle(transport, envelope)

    def attempt(self, name: str, key: str | None) -> int:
        """Which attempt of an effect this is, counted from 1 within the unit; those without a key are all first."""
        if key is None:
            return 1
        attempt = self._attempts[name, key] = self._attempts.get((name, key), 0) + 1
        return attempt

    def _opened(self, stream: Stream, first: Draft) -> RecordingTape:
        tape = RecordingTape(self, stream)
        tape.append(first)
        self._tapes[tape] = None
        self._streams.append(stream)
        return tape

    def _end(self, tape: RecordingTape, event_type: str, outcome: Outcome, causes: tuple[Stream, ...]) -> int:
        tape.abandon_effects()
        fields: dict[str, object] = {
            "outcome": _end_outcome(outcome).value,
            "result": self._result(outcome),
            "error": None,
        }
        if event_type == "RunFinished":
            fields["state_digest"] = None
        error = error_draft(outcome.error) if outcome.error is not None else None
        draft = Draft(event_type, fields, Extra(error, causes))
        self._tapes.pop(tape, None)
        try:
            return tape.append(draft, last=True)
        except AgentMisuse:  # ended by another thread, or opened before a fork
            return 0
        except SpoolUnwritable:
            tape.stream.ended = True
            self.journal.dropped += 1
            return 0

    def _result(self, outcome: Outcome) -> bytes | None:
        if outcome.status is not CallOutcome.OK or isinstance(outcome.value, NotStated):
            return None
        try:
            return encode_body(outcome.value, ordered=False)
        except Exception as error:  # noqa: BLE001 a stranger's codec may fail in any way; the result must get through
            self.journal.unrecorded += 1
            reason = self.clean(str(error)) if isinstance(error, TachographError) else type(error).__name__
            _LOG.warning("tachograph: the result of run %s is not recorded: %s", self.run_id, reason)
            return None


def _end_outcome(outcome: Outcome) -> EndOutcome:
    if outcome.status is CallOutcome.OK:
        return EndOutcome.OK
    return EndOutcome.CANCELLED if outcome.status is CallOutcome.CANCELLED else EndOutcome.ERROR


def _settle(transport: DirectoryTransport, envelope: Envelope) -> None:
    try:
        transport.settled(envelope)
    except OSError as error:
        _LOG.warning("tachograph: a received message's file could not be removed: %s", error.strerror)
