"""What of an archived run lies behind a folded state: pages and, of each, streams and causes, before an event is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from tachograph.core.causality import EventId
from tachograph.core.cut import Outline, Stream
from tachograph.core.state import RunState
from tachograph.stores.archive import Page, RunPages, mark_of

_STEPS_BACK: Final = (0, 4, 32, 256)
"""Pages before the state's clock that may hold what it lacks: agents' events come to the fold at different paces."""

_MODULUS: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Tail:
    """A state, and the pages of its run that may hold what it lacks."""

    base: RunState
    pages: Sequence[Page]
    """By their last event."""
    run: RunPages

    @property
    def positions(self) -> Mapping[Stream, int]:
        """Where the streams of the state stand."""
        return _positions(self.base)

    def until(self, hlc: int | None) -> list[Page]:
        """The pages that begin no later than a time."""
        return [page for page in self.pages if hlc is None or page.first_hlc <= hlc]

    def within(self, positions: Mapping[Stream, int], pages: Sequence[Page]) -> list[Page]:
        """Those of pages in which streams go on behind the state, and before positions."""
        base = self.positions
        return [page for page in pages if any(_between(*line, base, positions) for line in self._lines(page))]

    def outline(self, pages: Sequence[Page]) -> Outline:
        """What pages hold, without reading them."""
        outline = Outline(self.positions)
        run_id = self.run.run_id
        for page in sorted(pages):
            for line in self._lines(page):
                outline.span(*line)
            for edge in self.run.told(page).edges:
                outline.edge(EventId(run_id, *edge[:3]), EventId(run_id, *edge[3:]))
        return outline

    def _lines(self, page: Page) -> Iterator[tuple[Stream, int, int]]:
        for line in self.run.told(page).lines:
            yield Stream(self.run.run_id, line.agent_id, line.incarnation), line.first, line.last


def tail_of(run: RunPages, base: RunState) -> Tail | None:
    """What lies behind a state; None where it holds other events than the archive has of it, or came to them by a gap.

    Which pages it holds wholly is assumed by their clocks. Then their events, and those of the others that it holds, must
    be exactly those that it counts: late ones, and both sides of a fork of history, show there.

    Args:
        run: the run's pages.
        base: the state.
    """
    if base.gaps:
        return None
    pages = sorted(run.pages, key=attrgetter("last_hlc"))
    first = bisect_right(pages, base.hlc, key=attrgetter("last_hlc"))
    for back in _STEPS_BACK:
        start = max(0, first - back)
        tail = Tail(base, pages[start:], run)
        if _counts(pages[:start], tail) == _expected(base):
            return tail
        if start == 0:
            break
    return None


def _positions(base: RunState) -> dict[Stream, int]:
    return {Stream(base.run_id, *key): agent.seq for key, agent in base.agents.items()}


def _expected(base: RunState) -> tuple[int, int]:
    return base.events, sum(mark_of(key, 1, agent.seq) for key, agent in base.agents.items()) % _MODULUS


def _counts(inside: Sequence[Page], tail: Tail) -> tuple[int, int]:
    """Events up to the state, and the sum of their marks."""
    events, mark = sum(page.events for page in inside), sum(page.mark for page in inside)
    agents = tail.base.agents
    for page in tail.until(tail.base.hlc):
        for line in tail.run.told(page).lines:
            key = line.agent_id, line.incarnation
            last = min(line.last, agents[key].seq) if key in agents else 0
            if line.first <= last:
                events += last - line.first + 1
                mark += mark_of(key, line.first, last)
    return events, mark % _MODULUS


def _between(
    stream: Stream, first: int, last: int, base: Mapping[Stream, int], positions: Mapping[Stream, int]
) -> bool:
    return last > base.get(stream, 0) and first <= positions.get(stream, 0)
