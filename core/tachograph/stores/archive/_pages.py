"""A run's pages: what of it lies in a few blocks of a segment, so that little of it is read to know a part of it.

Each page names the streams that go on in it, from which `seq` to which, and which of its events depend on events of other
streams. They stand in the header behind the index, and are fetched when somebody asks for a cut or a cone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, cast

import orjson

from tachograph.core.errors import CorruptPayload, EvidenceBroken
from tachograph.schemas import CONTENT_OFFSET, AgentStarted, decode, decode_meta, prefix_of
from tachograph.stores.archive._avro import inflated_index
from tachograph.stores.archive._index import BlockRange, RunSpan

PAGE_BLOCKS: Final = 8
"""About 2,000 events: read in some milliseconds, and a million events have 500 pages."""

_FORMAT: Final = 1
_MARK_BITS: Final = 32

BEGINNINGS: Final = frozenset(
    prefix_of(name)
    for name in (
        "CallStarted", "MessageSent", "StateChanged", "Checkpointed", "ArtifactWritten", "AgentFinished", "RunFinished"
    )
)  # fmt: skip
"""What begins a step of its own stream, as `core.replay` has it."""

_STARTED: Final = prefix_of("AgentStarted")
_NONE: Final = b"\0"
"""No causes, as Avro writes it."""


class Recorded(Protocol):
    """An event on its way into a segment."""

    @property
    def run_id(self) -> str: ...
    @property
    def hlc(self) -> int: ...
    @property
    def agent_id(self) -> str: ...
    @property
    def incarnation(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def payload(self) -> bytes: ...


class Line(NamedTuple):
    """What of a stream lies in a page: all from one `seq` to another."""

    agent_id: str
    incarnation: int
    first: int
    last: int
    steps: int
    """Steps that begin there, those left out that begin with a child's first event."""


class Edge(NamedTuple):
    """An event of a page that depends on one of another stream of the run."""

    agent_id: str
    incarnation: int
    seq: int
    cause_agent_id: str
    cause_incarnation: int
    cause_seq: int


class Opened(NamedTuple):
    """A step of a stream that opened a child."""

    agent_id: str
    """Of the parent."""
    incarnation: int
    """0 where the child does not say which life of its parent it was."""
    seq: int
    """Of the parent's event behind which it stands."""


@dataclass(frozen=True, slots=True)
class PageTold:
    """What is known of a page without reading it."""

    first_hlc: int
    last_hlc: int
    events: int
    lines: tuple[Line, ...]
    edges: tuple[Edge, ...]
    opened: tuple[Opened, ...]

    @property
    def mark(self) -> int:
        """A sum over its events that only the same events add up to, as `mark_of`."""
        total = sum(mark_of(line[:2], line.first, line.last) for line in self.lines)
        return total & ((1 << _MARK_BITS) - 1)


def mark_of(stream: tuple[str, int], first: int, last: int) -> int:
    """A sum over the events of a stream from one `seq` to another, by which sets of events can be compared."""
    weight = zlib.crc32(f"{stream[1]} {stream[0]}".encode()) | 1
    return weight * ((first + last) * (last - first + 1) // 2) & ((1 << _MARK_BITS) - 1)


def ranges_of(whole: BlockRange) -> Iterator[BlockRange]:
    """Where a run's pages lie, given where the run does."""
    start, skip, left = whole.start, whole.skip, whole.events
    for at in range(0, len(whole.blocks), PAGE_BLOCKS):
        blocks = whole.blocks[at : at + PAGE_BLOCKS]
        size = sum(block.size for block in blocks)
        events = min(left, sum(block.events for block in blocks) - skip)
        yield BlockRange(start, size, blocks, skip, events)
        start, skip, left = start + size, 0, left - events


def pages_bytes(placed: Sequence[tuple[RunSpan, BlockRange]], records: Sequence[Recorded]) -> bytes:
    """The pages of a segment's runs, for `inflated_pages`; equal segments give equal bytes.

    Args:
        placed: the runs, in the order of the file.
        records: of all runs, in that order.
    """
    told: dict[str, list[object]] = {}
    at = 0
    for run, whole in placed:
        pages = told[run.run_id] = []
        for found in ranges_of(whole):
            pages.append(_Writing().page(records[at : at + found.events]))
            at += found.events
    return zlib.compress(orjson.dumps([_FORMAT, told]))


@dataclass(slots=True)
class _Growing:
    """A stream of a page that is being written."""

    number: int
    agent_id: str
    incarnation: int
    first: int
    last: int
    steps: int
    before_causes: int
    """Bytes of the meta that are the same in all events of the stream."""


@dataclass(slots=True)
class _Writing:
    streams: dict[tuple[str, int], _Growing] = field(default_factory=dict[tuple[str, int], _Growing])
    names: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    edges: list[int] = field(default_factory=list[int])
    opened: list[int] = field(default_factory=list[int])

    def page(self, records: Sequence[Recorded]) -> object:
        """None where streams do not go on one by one in it: then nothing is known without reading all."""
        try:
            if not all(map(self._add, records)):
                return None
        except EvidenceBroken:
            return None
        lines = [[one.number, one.first, one.last, one.steps] for one in self.streams.values()]
        names = [list(name) for name in self.names]
        first, last = records[0].hlc, records[-1].hlc
        return [first, last, len(records), names, lines, self.edges, self.opened]

    def _add(self, record: Recorded) -> bool:
        key, payload = (record.agent_id, record.incarnation), record.payload
        stream = self.streams.get(key)
        if stream is None:
            number = self._number(key)
            stream = _Growing(number, *key, record.seq, record.seq - 1, 0, _before_causes(record))
            self.streams[key] = stream
        if record.seq != stream.last + 1 or record.seq < 1 or record.hlc < 0:
            return False
        stream.last = record.seq
        kind = payload[:5]
        if kind in BEGINNINGS:
            stream.steps += 1
        causes = CONTENT_OFFSET + stream.before_causes + _size(record.seq) + _size(record.hlc)
        if payload[causes : causes + 1] != _NONE:
            self._depends(record, stream)
        if kind == _STARTED:
            self._starts(payload)
        return True

    def _depends(self, record: Recorded, stream: _Growing) -> None:
        for cause in decode_meta(record.payload).causes:
            other = (cause.agent_id, cause.incarnation)
            if cause.run_id == record.run_id and other != (stream.agent_id, stream.incarnation):
                self.edges += [stream.number, record.seq, self._number(other), cause.seq]

    def _starts(self, payload: bytes) -> None:
        event = decode(payload)
        if not isinstance(event, AgentStarted) or event.entrypoint is not None or event.arguments is not None:
            return
        parent = event.parent_agent_id
        if parent is None:
            return
        behind = next((cause for cause in event.meta.causes if cause.agent_id == parent), None)
        life, seq = (0, 0) if behind is None else (behind.incarnation, behind.seq)
        self.opened += [self._number((parent, life)), seq]

    def _number(self, key: tuple[str, int]) -> int:
        return self.names.setdefault(key, len(self.names))


def _before_causes(record: Recorded) -> int:
    """Bytes between the clock and the causes: agent, incarnation, run and tenant."""
    meta = decode_meta(record.payload)
    texts = (meta.agent_id, meta.run_id, meta.tenant)
    sizes = [len(text.encode()) for text in texts]
    return sum(sizes) + sum(map(_size, sizes)) + _size(meta.incarnation)


def _size(number: int) -> int:
    """Bytes of a number that is not negative, as Avro writes it."""
    return ((number << 1).bit_length() + 6) // 7 or 1


def pages_of(data: bytes, name: str, run_id: str) -> Sequence[PageTold] | None:
    """The pages of a run, from those of a segment; None where nothing is known of one.

    Raises:
        CorruptPayload: it is none.
    """
    try:
        number, told = orjson.loads(inflated_index(data, name))
        if number != _FORMAT or None in told[run_id]:
            return None
        return [_page(page) for page in told[run_id]]
    except (ValueError, TypeError, LookupError) as error:
        raise CorruptPayload(f"the pages of {name}", 0, f"they do not read as such: {error}") from error


def page_bytes(page: PageTold) -> bytes:
    """A page's lines and edges, as they are kept beside what a query needs of it."""
    tables = ([list(row) for row in rows] for rows in (page.lines, page.edges, page.opened))
    return orjson.dumps([page.first_hlc, page.last_hlc, page.events, *tables])


def page_of(data: bytes) -> PageTold:
    """The inverse of `page_bytes`."""
    first, last, events, lines, edges, opened = orjson.loads(data)
    return PageTold(
        first, last, events, tuple(Line(*line) for line in lines), tuple(Edge(*edge) for edge in edges),
        tuple(Opened(*one) for one in opened),
    )  # fmt: skip


_Told = tuple[
    int, int, int, Sequence[tuple[str, int]], Sequence[tuple[int, int, int, int]], Sequence[int], Sequence[int]
]


def _page(told: object) -> PageTold:
    first, last, events, names, lines, edges, opened = cast("_Told", told)
    known = [(str(agent_id), int(incarnation)) for agent_id, incarnation in names]
    links = (edges[at : at + 4] for at in range(0, len(edges), 4))
    parents = (opened[at : at + 2] for at in range(0, len(opened), 2))
    return PageTold(
        first, last, events,
        tuple(Line(*known[number], *rest) for number, *rest in lines),
        tuple(_edge(known[one], seq, known[other], cause) for one, seq, other, cause in links),
        tuple(Opened(known[parent][0], known[parent][1], seq) for parent, seq in parents),
    )  # fmt: skip


def _edge(one: tuple[str, int], seq: int, other: tuple[str, int], cause: int) -> Edge:
    return Edge(one[0], one[1], seq, other[0], other[1], cause)
