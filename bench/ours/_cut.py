"""The state of an archived run at an event, from the nearest snapshot: beside the whole fold, and beside a shorter run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Final

from bench._measure import Figures, Subject, fresh_directory, timed
from bench._servers import s3
from bench.ours._fold_step import _AGENT, _BACK, _NOW_MS, _RUN, _STARTED
from tachograph.core.causality import EventId
from tachograph.core.cut import Causality, future, past
from tachograph.core.state import Folding, empty
from tachograph.schemas import Cause, HeadEncoder, decode_meta, encode_rest, prefix_of
from tachograph.stores import Home, state_from_snapshot
from tachograph.stores.archive import SegmentRecord, SnapshotStore, write_segment
from tachograph.stores.backend import Backend
from tachograph.stores.s3 import Bucket

_RUN_ID: Final = "long"
_AGENTS: Final = 8
_SEGMENT_EVENTS: Final = 20_000
_TAIL: Final = 4_000
"""Events between the snapshot and the event."""
_TAIL_EVENTS_MIN: Final = 1_000
"""So many later, every agent has heard of all that the snapshot holds."""
_APART: Final = 5_000
"""By so many events a run of few agents grows from one snapshot of the fold to the next."""
_TIMES: Final = 5
_CAUSED: Final = 2


def _events(count: int) -> Iterator[SegmentRecord]:
    """Agents in a ring that call tools; every tenth event is caused by what the agent before did last."""
    heads = [HeadEncoder("run", 1, _RUN_ID, "default")]
    heads += [HeadEncoder(f"agent-{number}", 1, _RUN_ID, "default") for number in range(_AGENTS)]
    names = ["run", *(f"agent-{number}" for number in range(_AGENTS))]
    seqs = [0] * (_AGENTS + 1)
    for number in range(count):
        at = 0 if number == 0 else 1 + (number - 1) // 2 % _AGENTS
        before = 0 if at == 1 and not seqs[_AGENTS] else (at - 2) % _AGENTS + 1
        seqs[at] += 1
        seq, hlc = seqs[at], (_NOW_MS + number) << 16
        kind, fields = _kind(at, seq)
        is_caused = at and (seq == 1 or seq % 10 == _CAUSED)
        causes = (Cause(_RUN_ID, names[before], 1, seqs[before], bytes(32)),) if is_caused else ()
        head = heads[at].encode(seq, hlc, causes, (_NOW_MS + number) * 1000, None)
        payload = prefix_of(kind) + bytes(32) + head + encode_rest(kind, fields)
        yield SegmentRecord(_RUN_ID, hlc, names[at], 1, seq, number, payload)


def _kind(at: int, seq: int) -> tuple[str, dict[str, object]]:
    if at == 0:
        return "RunStarted", _RUN
    if seq == 1:
        return "AgentStarted", _AGENT
    return ("CallFinished", {"call_id": seq - 1, **_BACK}) if seq % 2 else ("CallStarted", _STARTED)


@cache
def _archived(count: int) -> tuple[Home, EventId]:
    """A home before the archive of a run, with the snapshots that the fold makes, and an event near its end."""
    settings = s3(f"cut-{os.getpid()}-{count}")
    bucket, snapshots = Bucket(settings), SnapshotStore(Bucket(settings), "default")
    folding, due, asked = Folding(empty(_RUN_ID)), _due(count - 100 - _TAIL), count - 100
    event_id = EventId(_RUN_ID, "", 1, 0)
    events = _events(count)
    while records := list(islice(events, _SEGMENT_EVENTS)):
        write_segment(bucket, "default", "tacho.events", 0, records)
        for record in records:
            folding.add(record.payload)
            if record.offset in due:
                snapshots.save(folding.state)
            if record.offset == asked:
                event_id = EventId(_RUN_ID, record.agent_id, 1, record.seq)
    key = fresh_directory() / "key"
    key.write_bytes(bytes(32))
    backend = Backend(s3=settings, digest_key_file=key)
    return Home.open(key.parent / "home", create=True, backend=backend), event_id


def _due(last: int) -> frozenset[int]:
    """The numbers of the events behind which there is a snapshot."""
    return frozenset(range(last, _TAIL_EVENTS_MIN, -_APART))


def at_event() -> Subject:
    """Wall time of the state at an event, behind a snapshot by most of what lies between two."""
    return lambda count: _timed(count, _state)


def at_event_tenth() -> Subject:
    """The same, as far behind a snapshot, in a run of a tenth."""
    return lambda count: _timed(count // 10, _state)


def whole() -> Subject:
    """Wall time of reading and folding the whole run."""
    return lambda count: _timed(count, _fold, 1)


def _fold(home: Home, event_id: EventId) -> None:
    folding = Folding(empty(event_id.run_id))
    for stored in home.log.read_run(event_id.run_id):
        folding.add(stored.payload)


def cones() -> Subject:
    """CPU of the past and the future of an event in the middle, for an event of the run; reading it left out."""
    return _cones


def cones_tenth() -> Subject:
    """The same in a run of a tenth."""
    return lambda count: _cones(count // 10)


@cache
def _causality(count: int) -> Causality:
    known = Causality()
    for record in _events(count):
        causes = decode_meta(record.payload).causes
        ids = [EventId(cause.run_id, cause.agent_id, cause.incarnation, cause.seq) for cause in causes]
        known.add(EventId(_RUN_ID, record.agent_id, 1, record.seq), record.hlc, ids)
    return known


def _cones(count: int) -> Figures:
    known = _causality(count)
    event_id = EventId(_RUN_ID, "agent-7", 1, count // _AGENTS // 2)

    def work(_: int) -> None:
        if past(known, event_id).events + future(known, event_id).events < count // 2:
            raise AssertionError(event_id)

    return timed(work, count)


def _state(home: Home, event_id: EventId) -> None:
    if state_from_snapshot(home, event_id.run_id, event_id) is None:
        raise AssertionError(event_id)


def _timed(count: int, ask: Callable[[Home, EventId], None], times: int = _TIMES) -> Figures:
    home, event_id = _archived(count)
    _state(home, event_id)  # what the segments tell is fetched once

    def work(times: int) -> None:
        for _ in range(times):
            ask(home, event_id)

    return timed(work, times)
