"""A segment's index: which run lies in which of its blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import orjson

from tachograph.core.errors import CorruptPayload, UnsupportedSchema
from tachograph.stores.archive._avro import Block

_FORMAT = 1


class RunSpan(NamedTuple):
    """The events of one run in a segment; they lie beside each other."""

    run_id: str
    events: int
    first_hlc: int
    last_hlc: int


class BlockRange(NamedTuple):
    """Where a run's events are."""

    start: int
    """Of the first block, in bytes from the segment's beginning."""
    size: int
    """Of all of them in the file, in bytes."""
    blocks: tuple[Block, ...]
    skip: int
    """Events of other runs before those of this one."""
    events: int


@dataclass(frozen=True, slots=True)
class SegmentIndex:
    """What a segment holds."""

    tenant: str
    topic: str
    partition: int
    first_offset: int
    """Of the first record."""
    last_offset: int
    """Of the last record; others of the partition's records between the two may belong to other tenants."""
    blocks: tuple[Block, ...]
    """The empty one at the end left out."""
    runs: tuple[RunSpan, ...]
    """In the order of the file."""
    covers: tuple[str, ...] = ()
    """Segments whose events of these runs are all here, too; they need not be read for them."""

    def placed(self, start: int) -> Iterator[tuple[RunSpan, BlockRange]]:
        """Where each run lies.

        Args:
            start: where the blocks begin, in bytes.
        """
        # Before block n lie so many bytes and events.
        sizes = list(accumulate((block.size for block in self.blocks), initial=start))
        events = list(accumulate((block.events for block in self.blocks), initial=0))
        first = at = 0
        for run in self.runs:
            while events[at + 1] <= first:
                at += 1
            end = at + 1
            while events[end] < first + run.events:
                end += 1
            size = sizes[end] - sizes[at]
            yield run, BlockRange(sizes[at], size, self.blocks[at:end], first - events[at], run.events)
            first += run.events


def index_bytes(index: SegmentIndex) -> bytes:
    """An index as JSON; equal ones give equal bytes."""
    return orjson.dumps(
        {
            "format": _FORMAT,
            "tenant": index.tenant,
            "topic": index.topic,
            "partition": index.partition,
            "offsets": [index.first_offset, index.last_offset],
            "blocks": [list(block) for block in index.blocks],
            "runs": [list(run) for run in index.runs],
            "covers": index.covers,
        },
        option=orjson.OPT_SORT_KEYS,
    )


def index_of(data: bytes, name: str) -> SegmentIndex:
    """The inverse of `index_bytes`.

    Raises:
        UnsupportedSchema: a newer release wrote it.
        CorruptPayload: it is none.
    """
    try:
        read = orjson.loads(data)
        if read["format"] != _FORMAT:
            raise UnsupportedSchema("segment index", f"format {read['format']!r}")
        first, last = read["offsets"]
        blocks = tuple(Block(*_numbers(block)) for block in read["blocks"])
        runs = tuple(RunSpan(str(run[0]), *_numbers(run[1:])) for run in read["runs"])
        covers = tuple(map(str, read["covers"]))
        index = SegmentIndex(read["tenant"], read["topic"], read["partition"], first, last, blocks, runs, covers)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptPayload(f"the index of {name}", 0, f"it does not read as one: {error}") from error
    if sum(run.events for run in runs) != sum(block.events for block in blocks):
        raise CorruptPayload(f"the index of {name}", 0, "its runs and its blocks do not hold the same number of events")
    return index


def _numbers(values: Sequence[object]) -> list[int]:
    numbers = [value for value in values if isinstance(value, int) and value >= 0]
    if len(numbers) != len(values):
        raise ValueError(f"{values!r} are not all numbers")
    return numbers
