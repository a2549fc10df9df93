"""Where offsets and steps of an archived run lie, from what its segments tell of themselves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

from tachograph.core.causality import EventId
from tachograph.core.cut import Stream
from tachograph.stores._address import address_of
from tachograph.stores._cuts import place_in
from tachograph.stores.archive import BEGINNINGS, ArchiveLog, LinePlace, Page, RunPages


class StepPlace(NamedTuple):
    """A step of an agent."""

    incarnation: int
    steps: int
    """How many the agent took in this life."""
    event_id: EventId | None
    """Where it begins; None where there is none of this number."""


def positions_below(pages: RunPages, limits: Mapping[str, int]) -> dict[Stream, int] | None:
    """Where each stream stands at offsets of partitions; None where its pages do not tell.

    Args:
        pages: of the run.
        limits: place to the first offset outside.
    """
    names = {page.name for page in pages.pages}
    places = {name: place for name in names if (place := place_in(name)) is not None}
    if not limits.keys() <= {place for place, _ in places.values()}:
        return None
    inside = {name for name, (place, last) in places.items() if place not in limits or last < limits[place]}
    positions: dict[Stream, int] = {}
    for key, (_, whole) in pages.streams().items():
        if not whole:
            return None
        seq = _up_to(pages, key, inside)
        if seq:
            positions[Stream(pages.run_id, *key)] = seq
    return positions


def _up_to(pages: RunPages, stream: tuple[str, int], inside: Iterable[str]) -> int:
    """The last `seq` before the first event that lies in another segment."""
    last = 0
    for line in pages.lines(stream):
        if line.name not in inside:
            break
        last = line.last
    return last


def step_at(
    archive: ArchiveLog, pages: RunPages, agent_id: str, incarnation: int | None, number: int
) -> StepPlace | None:
    """Where a step begins; None where the pages do not tell, or know no such agent."""
    lives = [life for agent, life in pages.streams() if agent == agent_id]
    if not lives:
        return None
    life = max(lives) if incarnation is None else incarnation
    return _step(archive, pages, Stream(pages.run_id, agent_id, life), number)


def _step(archive: ArchiveLog, pages: RunPages, stream: Stream, number: int) -> StepPlace | None:
    opened = pages.opened(stream.agent_id)
    lines = pages.lines(stream[1:])
    if any(life == 0 for life, _ in opened) or any(one.last + 1 != two.first for one, two in pairwise(lines)):
        return None
    children = [seq for life, seq in opened if life == stream.incarnation]
    counts = [0, *accumulate(line.steps + len(_inside(line, children)) for line in lines)]
    if not 1 <= number <= counts[-1]:
        return StepPlace(stream.incarnation, counts[-1], None)
    at = bisect_left(counts, number) - 1
    line = lines[at]
    page = next(page for page in pages.pages if (page.name, page.number) == (line.name, line.number))
    begun = sorted([*_beginnings(archive, page, stream), *_inside(line, children)])
    return StepPlace(stream.incarnation, counts[-1], stream.event(begun[number - counts[at] - 1]))


def _inside(line: LinePlace, seqs: Iterable[int]) -> list[int]:
    return [seq for seq in seqs if line.first <= seq <= line.last]


def _beginnings(archive: ArchiveLog, page: Page, stream: Stream) -> Iterator[int]:
    for stored in archive.read([page.part]):
        address = address_of(stored.payload)
        if stored.payload[:5] in BEGINNINGS and address[1:3] == stream[1:]:
            yield address.seq
