"""Events as a recorder writes them, hash chain and all, for tests of what lies below the recorder."""

from __future__ import annotations

from tachograph.core.canonical import Digester, encode_body, make_body
from tachograph.core.causality import GENESIS, EventId, event_hash
from tachograph.schemas import (
    CONTENT_OFFSET,
    AgentFinished,
    AgentStarted,
    Body,
    CallFinished,
    CallOutcome,
    CallStarted,
    Cause,
    EffectState,
    EffectTransitioned,
    EndOutcome,
    Event,
    EventMeta,
    RunFinished,
    RunStarted,
    encode_record,
    fields_of,
    prefix_of,
    schema_tag,
)
from tachograph.stores import DirectoryObjects

KEY = bytes(32)


class Clock:
    """Hybrid logical time that ticks by one millisecond."""

    def __init__(self, start_ms: int = 1_800_000_000_000) -> None:
        self.ms = start_ms

    def tick(self) -> int:
        """The next moment."""
        self.ms += 1
        return self.ms << 16


class Chain:
    """One stream: makes its events one after another."""

    def __init__(
        self,
        run_id: str,
        agent_id: str,
        clock: Clock,
        *,
        incarnation: int = 1,
        digester: Digester | None = None,
        objects: DirectoryObjects | None = None,
    ) -> None:
        self.run_id = run_id
        self.agent_id = agent_id
        self.incarnation = incarnation
        self.seq = 0
        self.head = GENESIS
        self._clock = clock
        self._digester = Digester(KEY) if digester is None else digester
        self._objects = objects

    @property
    def latest(self) -> Cause:
        """The latest event, as a cause."""
        return Cause(self.run_id, self.agent_id, self.incarnation, self.seq, self.head)

    @property
    def event_id(self) -> str:
        """The latest event's id."""
        return str(EventId(self.run_id, self.agent_id, self.incarnation, self.seq))

    def body(self, value: object) -> Body:
        """A body; chunks go to the object store."""
        body, chunks = make_body(encode_body(value), redacted=False, digester=self._digester)
        for key, data in chunks:
            assert self._objects is not None
            self._objects.put(key, data)
        return body

    def meta(self, causes: tuple[Cause, ...] = ()) -> EventMeta:
        """The next event's meta, without its hash."""
        hlc = self._clock.tick()
        return EventMeta(
            bytes(32),
            self.seq + 1,
            hlc,
            self.agent_id,
            self.incarnation,
            self.run_id,
            "default",
            causes,
            (hlc >> 16) * 1000,
            None,
            None,
        )

    def add(self, event: Event) -> bytes:
        """The payload of an event made with `meta`; the stream goes on behind it."""
        payload = hashed(event, self.head)
        self.seq, self.head = event.meta.seq, payload[5:37]
        return payload

    def run_started(self, name: str = "desk", entrypoint: str | None = "app:main") -> bytes:
        """RunStarted."""
        args = self.body({"args": [], "kwargs": {}})
        return self.add(
            RunStarted(self.meta(), name, entrypoint, args, self.body({}), None, None, "default", "default/1")
        )

    def run_finished(self, *causes: Cause) -> bytes:
        """RunFinished."""
        return self.add(RunFinished(self.meta(causes), EndOutcome.OK, self.body(None), None, None))

    def agent_started(self, *causes: Cause, role: str = "worker") -> bytes:
        """AgentStarted."""
        return self.add(AgentStarted(self.meta(causes), role, None, None, None, None, "default/1"))

    def agent_finished(self) -> bytes:
        """AgentFinished."""
        return self.add(AgentFinished(self.meta(), EndOutcome.OK, self.body(None), None))

    def call_started(self, name: str = "look_up", value: object = None, *, key: str | None = None) -> bytes:
        """CallStarted of a tool; an effect where it has an idempotency key."""
        effect = "read" if key is None else "write"
        return self.add(CallStarted(self.meta(), "tool", name, None, effect, key, 1, None, self.body(value)))

    def call_finished(
        self, value: object = None, outcome: CallOutcome = CallOutcome.OK, *, call_id: int | None = None
    ) -> bytes:
        """CallFinished, of the latest event's call unless another is named."""
        call_id = self.seq if call_id is None else call_id
        return self.add(
            CallFinished(self.meta(), call_id, outcome, -1, 1, 0, None, None, None, None, None, self.body(value))
        )

    def moved(
        self, effect_id: str, name: str, key: str | None, start: EffectState, end: EffectState, by: str = "recorder"
    ) -> bytes:
        """EffectTransitioned."""
        return self.add(EffectTransitioned(self.meta(), effect_id, name, key, start, end, None, by, None))

    def fork(self) -> Chain:
        """The same stream, to go on differently."""
        other = Chain(self.run_id, self.agent_id, self._clock, incarnation=self.incarnation, digester=self._digester)
        other.seq, other.head = self.seq, self.head
        return other


def hashed(event: Event, previous: bytes) -> bytes:
    """An event's payload, with the hash it must have."""
    kind = type(event).__name__
    plain = prefix_of(kind) + encode_record(kind, fields_of(event))
    causes = [cause.hash for cause in event.meta.causes]
    digest = event_hash(schema_tag(plain), plain[CONTENT_OFFSET:], previous, causes)
    return plain[:5] + digest + plain[CONTENT_OFFSET:]


def small_fleet(
    run_id: str = "run-1", *, clock: Clock | None = None, calls: int = 2, digester: Digester | None = None
) -> list[bytes]:
    """A finished run of two agents that call a tool, as one process writes it."""
    clock = Clock() if clock is None else clock
    root = Chain(run_id, "run", clock, digester=digester)
    payloads = [root.run_started()]
    agents = [Chain(run_id, name, clock, digester=digester) for name in ("triage", "billing")]
    payloads += [agent.agent_started(root.latest) for agent in agents]
    for number in range(calls):
        for agent in agents:
            payloads.append(agent.call_started("look_up", {"ticket": number}))
            payloads.append(agent.call_finished({"text": "x" * number}))
    payloads += [agent.agent_finished() for agent in agents]
    payloads.append(root.run_finished(*(agent.latest for agent in agents)))
    return payloads


__all__ = ["KEY", "Chain", "Clock", "hashed", "small_fleet"]
