"""What tests of recordings share: reading a run back, and the invariants that every recorded run holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tachograph.core.causality import GENESIS, event_hash
from tachograph.schemas import CONTENT_OFFSET, HASH, Event, decode, schema_tag
from tachograph.stores import Home

StreamKey = tuple[str, int]


def payloads_of(home: Path | str | Home, run_id: str | None) -> list[bytes]:
    """A run's payloads in causal order."""
    assert run_id is not None
    opened = home if isinstance(home, Home) else Home.open(home)
    return [stored.payload for stored in opened.log.read_run(run_id)]


def events_of(home: Path | str | Home, run_id: str | None) -> list[Event]:
    """A run's events in causal order."""
    return [decode(payload) for payload in payloads_of(home, run_id)]


def named(events: Iterable[Event], name: str, agent_id: str | None = None) -> list[Event]:
    """The events of one type, of one agent or all."""
    return [event for event in events if type(event).__name__ == name and agent_id in (None, event.meta.agent_id)]


def kinds(events: Iterable[Event], agent_id: str) -> list[str]:
    """Type names of an agent's events, in order."""
    return [type(event).__name__ for event in events if event.meta.agent_id == agent_id]


def check_run(payloads: Iterable[bytes]) -> list[Event]:
    """The invariants of a run: streams without gaps, whole hash chains, causes that are there and came before."""
    payloads = list(payloads)
    events = [decode(payload) for payload in payloads]
    hashes = {(*_stream(event), event.meta.seq): event.meta.hash for event in events}
    clocks = {(*_stream(event), event.meta.seq): event.meta.hlc for event in events}
    heads: dict[StreamKey, tuple[int, bytes, int]] = {}
    assert len(hashes) == len(events), "an event is there twice"
    for event, payload in zip(events, payloads, strict=True):
        meta = event.meta
        seq, previous, hlc = heads.get(_stream(event), (0, GENESIS, 0))
        assert meta.seq == seq + 1, f"{_stream(event)} goes from {seq} to {meta.seq}"
        assert meta.hlc > hlc
        for cause in meta.causes:
            key = (cause.agent_id, cause.incarnation, cause.seq)
            assert hashes[key] == cause.hash, f"the cause {key} of {_stream(event)}.{meta.seq} has another hash"
            assert clocks[key] < meta.hlc
        causes = [cause.hash for cause in meta.causes]
        assert event_hash(schema_tag(payload), payload[CONTENT_OFFSET:], previous, causes) == payload[HASH] == meta.hash
        heads[_stream(event)] = (meta.seq, meta.hash, meta.hlc)
    return events


def _stream(event: Event) -> StreamKey:
    return event.meta.agent_id, event.meta.incarnation
