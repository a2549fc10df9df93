"""The archive as a log: runs read from segments, each event once, without their neighbours."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from tachograph.core.errors import CorruptFrame, CorruptPayload, UnknownRun
from tachograph.core.findings import SegmentFinding
from tachograph.core.ports import Stored
from tachograph.schemas import HASH
from tachograph.stores._address import address_of
from tachograph.stores._log import nearest
from tachograph.stores.archive._audits import Counted, counted_streams
from tachograph.stores.archive._avro import payloads_of
from tachograph.stores.archive._cache import Part, SegmentCache
from tachograph.stores.archive._page_cache import PageCache, RunPages
from tachograph.stores.archive._write import segments_prefix
from tachograph.stores.s3 import Bucket


class _Ordered(NamedTuple):
    """An event by what the events of a run are in order of; what has all of it in common is the same event."""

    hlc: int
    agent_id: str
    incarnation: int
    seq: int
    hash: bytes
    payload: bytes
    segment: str
    place: int


class ArchiveLog:
    """An `EventLog` of one tenant over the segments in a bucket. Safe for several threads.

    Events that overlapping segments hold twice count once; both sides of a fork of history are there. A `Stored` names
    its segment in the bucket, and as offset the event's number in it.

    Args:
        bucket: where the segments are.
        tenant: whose events.
        cache: file for what the segments' indexes say; `:memory:` keeps nothing.
        told: gives the segments that the archive told of, where a catalogue knows them.
    """

    def __init__(
        self, bucket: Bucket, tenant: str, cache: Path | str, told: Callable[[], Iterable[SegmentFinding]] = tuple
    ) -> None:
        self.cache: Final = SegmentCache(bucket, tenant, cache)
        self.tenant: Final = tenant
        self.bucket: Final = bucket
        self.told: Final = told

    def refresh(self, *, whole: bool = False) -> None:
        """Take in what was archived since the last time.

        Args:
            whole: list every segment again, not only the newest.

        Raises:
            StoreUnavailable: the archive cannot be reached.
        """
        self.cache.refresh(whole=whole)

    def forget(self) -> None:
        """Delete what is kept of the archive; it is fetched anew when it is needed.

        Raises:
            StoreUnavailable: the file cannot be deleted.
        """
        self.cache.database.discard()

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first.

        Raises:
            StoreUnavailable: the archive cannot be reached.
        """
        self.refresh()
        return [run_id for _, run_id in self.cache.run_ids()]

    def read_run(self, run_id: str) -> Iterator[Stored]:
        """A run's events: ascending by hybrid logical clock, every stream's in order of `seq`.

        Raises:
            UnknownRun: there is no such run.
            CorruptFrame: the bytes are not what was written.
            StoreUnavailable: the archive cannot be reached.
        """
        self.refresh()
        return self.read_known(run_id)

    def read_known(self, run_id: str) -> Iterator[Stored]:
        """The same, as of the last refresh.

        Raises:
            UnknownRun, CorruptFrame, StoreUnavailable: as `read_run`.
        """
        parts = self.cache.parts(run_id)
        if not parts:
            known = [known for _, known in self.cache.run_ids()]
            raise UnknownRun(run_id, f"the archive {self.bucket.endpoint}", nearest(run_id, known))
        return self.read(parts)

    def pages(self, run_id: str) -> RunPages | None:
        """What a run's pages hold, as of the last refresh; None where some of its segments do not tell.

        Raises:
            StoreUnavailable: as `read_run`.
        """
        return PageCache(self.bucket, self.cache).run(run_id)

    def names(self) -> frozenset[str]:
        """The names of all segments, as they are listed now.

        Raises:
            StoreUnavailable: the archive cannot be reached.
        """
        return frozenset(self.bucket.names(segments_prefix(self.tenant)))

    def counted(self) -> Iterator[Counted]:
        """How far the auditor counted the streams that it remembers.

        Raises:
            StoreUnavailable: the archive cannot be reached.
        """
        return counted_streams(self.bucket, self.tenant)

    def read(self, parts: Sequence[Part]) -> Iterator[Stored]:
        """The events of parts of one run, which are sorted by their first event; each event once."""
        before: _Ordered | None = None
        for event in self._merged(parts):
            if before is None or event[:6] != before[:6]:
                yield Stored(event.payload, event.segment, event.place)
            before = event

    def _merged(self, parts: Sequence[Part]) -> Iterator[_Ordered]:
        """Like heapq.merge, but a part is fetched only when its first event may be next."""
        waiting = list(reversed(parts))
        heap: list[tuple[_Ordered, int, Iterator[_Ordered]]] = []
        while waiting or heap:
            while waiting and (not heap or waiting[-1].first_hlc <= heap[0][0].hlc):
                _push(heap, len(waiting), self._events(waiting.pop()))
            if heap:
                event, number, events = heapq.heappop(heap)
                yield event
                _push(heap, number, events)

    def _events(self, part: Part) -> Iterator[_Ordered]:
        found = part.range
        data = self.bucket.get_range(part.name, found.start, found.size)
        if data is None or len(data) != found.size:
            reason = "the segment is no longer there" if data is None else "the segment ends too early"
            raise CorruptFrame(f"{self.bucket.endpoint}/{part.name}", found.start, reason)
        payloads = islice(payloads_of(data, found.blocks, part.name), found.skip, found.skip + found.events)
        try:
            for place, payload in enumerate(payloads, found.skip):
                address = address_of(payload)
                yield _Ordered(
                    address.hlc, address.agent_id, address.incarnation, address.seq,
                    payload[HASH], payload, part.name, place,
                )  # fmt: skip
        except CorruptPayload as error:
            raise CorruptFrame(f"{self.bucket.endpoint}/{part.name}", found.start, str(error)) from error


def _push(heap: list[tuple[_Ordered, int, Iterator[_Ordered]]], number: int, events: Iterator[_Ordered]) -> None:
    event = next(events, None)
    if event is not None:
        heapq.heappush(heap, (event, number, events))
