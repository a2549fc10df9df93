"""A run's evidence: read from the log, held against its hashes, and cut into units. The log is only read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from tachograph.core.canonical import decode_body
from tachograph.core.causality import GENESIS, event_hash
from tachograph.core.errors import EvidenceBroken, MissingBody, UnsupportedSchema
from tachograph.core.replay import StreamSteps, steps_of
from tachograph.core.state import RunState, empty, fold, replayability, state_digest
from tachograph.replay_workers._fork_ends import STOPPED
from tachograph.replay_workers._places import FiredTimer, StreamKey
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import (
    CONTENT_OFFSET,
    HASH,
    ROOT_AGENT_ID,
    AgentFinished,
    AgentStarted,
    Body,
    Event,
    RunFinished,
    RunStarted,
    TimerFired,
    decode,
    decode_meta,
    is_optional,
    schema_tag,
    was_upcast,
)
from tachograph.stores import Home

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


def evidence_of(home: Home, run_id: str) -> Evidence:
    """A run's evidence, with everything that is missing from it.

    Raises:
        UnknownRun: there is no such run.
    """
    evidence = Evidence(run_id)
    evidence.events = list(_events(home, evidence))
    state = _folded(evidence)
    _check_state(evidence, state)
    grade = replayability(state)
    evidence.fidelity = grade.grade.value
    evidence.missing[:0] = grade.missing
    _cut(home, evidence)
    return evidence


def _events(home: Home, evidence: Evidence) -> Iterator[Event]:
    """The events that are what they were."""
    chains: dict[StreamKey, tuple[int, bytes]] = {}
    upcast: dict[str, None] = {}
    try:
        for stored in home.log.read_run(evidence.run_id):
            event = _decoded(stored.payload, evidence)
            if event is None or not _is_sound(event, stored.payload, chains, evidence):
                continue
            if was_upcast(stored.payload):
                upcast[schema_tag(stored.payload)] = None
            yield event
    except EvidenceBroken as error:
        _miss(evidence, str(error))
    for tag in upcast:
        evidence.taints.append(f"events of schema {tag} were read as their newer version")


def _decoded(payload: bytes, evidence: Evidence) -> Event | None:
    try:
        return decode(payload)
    except UnsupportedSchema as error:
        if is_optional(payload):
            meta = decode_meta(payload)
            evidence.skipped.add(((meta.agent_id, meta.incarnation), meta.seq))
        else:
            _miss(evidence, str(error))
    except EvidenceBroken as error:
        _miss(evidence, str(error))
    return None


def _is_sound(event: Event, payload: bytes, chains: dict[StreamKey, tuple[int, bytes]], evidence: Evidence) -> bool:
    """Whether the event is the next of its stream, and hashes to what it says."""
    meta = event.meta
    key = (meta.agent_id, meta.incarnation)
    seq, previous = chains.get(key, (0, GENESIS))
    if meta.seq <= seq:
        if meta.seq == seq and payload[HASH] != previous:
            _miss(evidence, f"event {_id(event)} stands in the log twice with different content")
        return False
    hashes = [cause.hash for cause in meta.causes]
    made = event_hash(schema_tag(payload), payload[CONTENT_OFFSET:], previous, hashes)
    chains[key] = (meta.seq, meta.hash)
    if meta.seq == seq + 1 and made != meta.hash:
        _miss(evidence, f"event {_id(event)} or the one before it was changed: its hash does not fit")
        return False
    return True  # where there is a hole the fold names it


def _folded(evidence: Evidence) -> RunState:
    state = empty(evidence.run_id)
    for event in evidence.events:
        state = fold(state, event)
    return state


def _check_state(evidence: Evidence, state: RunState) -> None:
    """Hold the state that the events add up to against the one that the run's end states; older ends state none."""
    for event in evidence.events:
        if not isinstance(event, RunFinished) or event.state_digest is None or state.gaps or evidence.missing:
            continue
        if state_digest(state, event) != event.state_digest:
            _miss(evidence, f"The state that the events up to {_id(event)} add up to is not the one that it states.")


def _cut(home: Home, evidence: Evidence) -> None:
    """Cut the run into units."""
    bodies = _Bodies(home, evidence)
    events = list(_up_to_holes(evidence))
    bodies.timers = [_timer(event) for event in events if isinstance(event, TimerFired)]
    streams = steps_of(_without_stops(events, evidence), bodies.read)
    times = _times(events)
    opened = {_key(event): event for event in events if isinstance(event, RunStarted | AgentStarted)}
    headless = {_key(event) for event in evidence.events} - streams.keys()  # who opened them nobody knows
    members: dict[StreamKey, list[StreamSteps]] = {}
    for key, stream in streams.items():
        owner = _owner(key, streams, opened)
        if owner is not None:
            members.setdefault(owner, []).append(stream)
    for owner, group in members.items():
        start = opened.get(owner)
        unit = _unit(start, group, times, bodies) if start is not None and not headless else None
        if unit is None:
            evidence.undriven += 1
        else:
            evidence.units.append(unit)


def _up_to_holes(evidence: Evidence) -> Iterator[Event]:
    """The events of each stream up to the first one that is missing or changed: behind it nothing has its place."""
    latest: dict[StreamKey, int] = {}
    for event in evidence.events:
        key = _key(event)
        following = latest.get(key, 0) + 1
        while (key, following) in evidence.skipped:
            following += 1
        if event.meta.seq == following:
            latest[key] = following
            yield event


def _without_stops(events: Iterable[Event], evidence: Evidence) -> Iterator[Event]:
    """The events without the ends that a fork wrote where it had to stop: control logic did not come to them."""
    for event in events:
        error = event.error if isinstance(event, AgentFinished | RunFinished) else None
        if error is None or error.type != STOPPED:
            yield event
        else:
            _miss(evidence, f"This run is a fork that had to stop: {error.message}.")


def _owner(
    key: StreamKey, streams: dict[StreamKey, StreamSteps], opened: dict[StreamKey, RunStarted | AgentStarted]
) -> StreamKey | None:
    """The unit's own stream, for a stream opened under it; None for streams that no control logic writes."""
    for _ in range(len(streams) + 1):
        start = opened.get(key)
        if isinstance(start, RunStarted) or _is_joined(start):
            return key
        parent = streams[key].parent if key in streams else None
        if parent is None:
            return key if key[0] == ROOT_AGENT_ID else None
        key = parent
    return None


def _is_joined(start: RunStarted | AgentStarted | None) -> bool:
    return isinstance(start, AgentStarted) and (start.entrypoint is not None or start.arguments is not None)


def _unit(
    start: RunStarted | AgentStarted,
    group: list[StreamSteps],
    times: dict[StreamKey, list[int]],
    bodies: _Bodies,
) -> Unit | None:
    evidence = bodies.evidence
    agent = start.meta.agent_id
    if start.entrypoint is None or start.arguments is None:
        if isinstance(start, AgentStarted):
            evidence.missing.append(f"The process of agent {agent!r} has no importable entry point.")
        return None
    keys = [(stream.agent_id, stream.incarnation) for stream in group]
    if bodies.is_broken(keys):
        return None
    arguments = bodies.read(start.arguments, _id(start))
    inputs = bodies.read(start.inputs, _id(start)) if start.inputs is not None else b"{}"
    if bodies.is_broken(keys):
        return None
    versions = cast("dict[str, object]", decode_body(inputs))
    if isinstance(start, RunStarted):
        evidence.name = start.name
        evidence.inputs = versions
    code = versions.get("code_path")
    return Unit(
        run_id=evidence.run_id,
        key=_key(start),
        kind="run" if isinstance(start, RunStarted) else "agent",
        entrypoint=start.entrypoint,
        arguments=arguments,
        arguments_redacted=start.arguments.redacted,
        redaction=start.redaction,
        streams=tuple(sorted(group, key=lambda stream: (stream.agent_id, stream.incarnation))),
        times={key: times[key] for key in keys},
        timers=tuple(timer for timer in bodies.timers if timer.stream in set(keys)),
        code=(code,) if isinstance(code, str) else (),
    )


class _Bodies:
    """Reads bodies, and remembers of which streams some are missing."""

    def __init__(self, home: Home, evidence: Evidence) -> None:
        self._home = home
        self._broken: set[StreamKey] = set()
        self.timers: list[FiredTimer] = []
        self.evidence = evidence

    def read(self, body: Body, event_id: str) -> bytes:
        """A body's bytes; `null` in place of one that is missing."""
        try:
            return self._home.body(body, event_id)
        except MissingBody as error:
            _miss(self.evidence, str(error))
            self.evidence.missing_body = self.evidence.missing_body or error
            agent, _, rest = event_id.partition("/")[2].rpartition("#")
            self._broken.add((agent, int(rest.partition(".")[0])))
            return b"null"

    def is_broken(self, keys: list[StreamKey]) -> bool:
        """Whether a body of one of the streams is missing."""
        return not self._broken.isdisjoint(keys)


def with_code(unit: Unit, code: str | None, steps_max: int) -> Unit:
    """The unit, to be driven with other code."""
    return replace(unit, code=(code,) if code is not None else unit.code, steps_max=steps_max)


def _times(events: list[Event]) -> dict[StreamKey, list[int]]:
    times: dict[StreamKey, list[int]] = {}
    for event in events:
        meta = event.meta
        times.setdefault((meta.agent_id, meta.incarnation), []).append(meta.recorded_at_us)
    return times


def _miss(evidence: Evidence, text: str) -> None:
    if text in evidence.missing:
        return
    if len(evidence.missing) < _NAMED_MAX:
        evidence.missing.append(text)
    elif len(evidence.missing) == _NAMED_MAX:
        evidence.missing.append("More is missing than can be listed here; run `tacho verify` for the extent.")


def _timer(event: TimerFired) -> FiredTimer:
    meta = event.meta
    return FiredTimer(_key(event), event.number, event.delay_us, event.gap, meta.seq, meta.hlc)


def _key(event: Event) -> StreamKey:
    return event.meta.agent_id, event.meta.incarnation


def _id(event: Event) -> str:
    meta = event.meta
    return f"{meta.run_id}/{meta.agent_id}#{meta.incarnation}.{meta.seq}"
