"""Cuts a run's evidence into units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from tachograph.core.canonical import decode_body
from tachograph.core.errors import MissingBody
from tachograph.core.ports import ForkOptions, ReplayOptions
from tachograph.core.replay import ReadBody, Skim, StreamSteps, steps_of
from tachograph.replay_workers._evidence import Evidence, event_name, stream_of
from tachograph.replay_workers._fork_ends import STOPPED
from tachograph.replay_workers._places import FiredTimer, StreamKey
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import (
    ROOT_AGENT_ID,
    AgentFinished,
    AgentStarted,
    Body,
    Event,
    RunFinished,
    RunStarted,
    TimerFired,
)


def cut(evidence: Evidence, read: ReadBody, skim: Skim | None = None) -> None:
    """Cut the run into units; bodies of which `read` says that they are missing are noted.

    Args:
        evidence: gets the units.
        read: reads a body.
        skim: of the run, where it is known that no event is missing; the evidence then has those that were decoded.
    """
    bodies = _Bodies(read, evidence)
    events = evidence.events if skim is not None else list(_up_to_holes(evidence))
    bodies.timers = [_timer(event) for event in events if isinstance(event, TimerFired)]
    told = list(_without_stops(events, evidence))
    streams = steps_of(told, bodies.read) if skim is None else skim.streams(bodies.read)
    times = _times(events) if skim is None else skim.times
    opened = {stream_of(event): event for event in events if isinstance(event, RunStarted | AgentStarted)}
    headless = {stream_of(event) for event in evidence.events} - streams.keys()  # who opened them nobody knows
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
        key = stream_of(event)
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
            evidence.miss(f"This run is a fork that had to stop: {error.message}.")


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
    times: Mapping[StreamKey, Sequence[int]],
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
    arguments = bodies.read(start.arguments, event_name(start))
    inputs = bodies.read(start.inputs, event_name(start)) if start.inputs is not None else b"{}"
    if bodies.is_broken(keys):
        return None
    versions = cast("dict[str, object]", decode_body(inputs))
    if isinstance(start, RunStarted):
        evidence.name = start.name
        evidence.inputs = versions
    code = versions.get("code_path")
    return Unit(
        run_id=evidence.run_id,
        key=stream_of(start),
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

    def __init__(self, read: ReadBody, evidence: Evidence) -> None:
        self._read = read
        self._broken: set[StreamKey] = set()
        self.timers: list[FiredTimer] = []
        self.evidence = evidence

    def read(self, body: Body, event_id: str) -> bytes:
        """A body's bytes; `null` in place of one that is missing."""
        try:
            return self._read(body, event_id)
        except MissingBody as error:
            self.evidence.miss(str(error))
            self.evidence.missing_body = self.evidence.missing_body or error
            agent, _, rest = event_id.partition("/")[2].rpartition("#")
            self._broken.add((agent, int(rest.partition(".")[0])))
            return b"null"

    def is_broken(self, keys: list[StreamKey]) -> bool:
        """Whether a body of one of the streams is missing."""
        return not self._broken.isdisjoint(keys)


def with_code(unit: Unit, options: ReplayOptions | ForkOptions) -> Unit:
    """The unit, to be driven with the code and within the limits that are asked for."""
    code = (options.code,) if options.code is not None else unit.code
    return replace(unit, code=code, steps_max=options.steps_max, cpu_seconds_max=options.cpu_seconds_max)


def _times(events: list[Event]) -> dict[StreamKey, list[int]]:
    times: dict[StreamKey, list[int]] = {}
    for event in events:
        meta = event.meta
        times.setdefault((meta.agent_id, meta.incarnation), []).append(meta.recorded_at_us)
    return times


def _timer(event: TimerFired) -> FiredTimer:
    meta = event.meta
    return FiredTimer(stream_of(event), event.number, event.delay_us, event.gap, meta.seq, meta.hlc)
