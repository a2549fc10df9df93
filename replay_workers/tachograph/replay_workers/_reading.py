"""Reads a run's evidence from the log, event by event, each held against its hash. The log is only read."""

from __future__ import annotations

from collections.abc import Iterator

from tachograph.core.causality import GENESIS, event_hash
from tachograph.core.errors import EvidenceBroken, UnsupportedSchema
from tachograph.core.state import empty, fold
from tachograph.replay_workers._cut import cut
from tachograph.replay_workers._evidence import Evidence, event_name
from tachograph.replay_workers._places import StreamKey
from tachograph.schemas import (
    CONTENT_OFFSET,
    HASH,
    Event,
    decode,
    decode_meta,
    is_optional,
    schema_tag,
    was_upcast,
)
from tachograph.stores import Home


def evidence_of(home: Home, run_id: str) -> Evidence:
    """A run's evidence, with everything that is missing from it.

    Raises:
        UnknownRun: there is no such run.
    """
    evidence = Evidence(run_id)
    evidence.events = list(_events(home, evidence))
    state = empty(run_id)
    for event in evidence.events:
        state = fold(state, event)
    evidence.judge(state)
    cut(evidence, home.body)
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
        evidence.miss(str(error))
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
            evidence.miss(str(error))
    except EvidenceBroken as error:
        evidence.miss(str(error))
    return None


def _is_sound(event: Event, payload: bytes, chains: dict[StreamKey, tuple[int, bytes]], evidence: Evidence) -> bool:
    """Whether the event is the next of its stream, and hashes to what it says."""
    meta = event.meta
    key = (meta.agent_id, meta.incarnation)
    seq, previous = chains.get(key, (0, GENESIS))
    if meta.seq <= seq:
        if meta.seq == seq and payload[HASH] != previous:
            evidence.miss(f"event {event_name(event)} stands in the log twice with different content")
        return False
    chains[key] = (meta.seq, meta.hash)
    if meta.seq == seq + 1 and hash_of(event, payload, previous) != meta.hash:
        evidence.miss(f"event {event_name(event)} or the one before it was changed: its hash does not fit")
        return False
    return True  # where there is a hole the fold names it


def hash_of(event: Event, payload: bytes, previous: bytes) -> bytes:
    """The hash that an event must have behind the previous one of its stream."""
    causes = [cause.hash for cause in event.meta.causes]
    return event_hash(schema_tag(payload), payload[CONTENT_OFFSET:], previous, causes)
