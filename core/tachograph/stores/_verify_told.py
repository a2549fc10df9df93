"""Comparing an archive with what others know of it: whoever has a copy of its index sees what was taken away."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from tachograph.core.causality import EventId
from tachograph.core.errors import StoreUnavailable
from tachograph.stores._chain import StreamChain
from tachograph.stores._findings import Finding, FindingKind

if TYPE_CHECKING:
    from tachograph.core.findings import SegmentFinding
    from tachograph.stores.archive import ArchiveLog

_LOG: Final = logging.getLogger("tachograph.verify")


class ToldCheck:
    """What the catalogue was told of segments, and the auditor counted of streams, before the archive is looked at.

    Both are told once a segment is stored: what they know of and the archive does not have was removed.

    Args:
        archive: that will be looked at.

    Raises:
        StoreUnavailable: the archive cannot be reached.
    """

    def __init__(self, archive: ArchiveLog) -> None:
        self._archive = archive
        self._segments: Mapping[str, SegmentFinding] = _segments(archive)
        self._streams: Final = list(archive.counted())

    def segments(self) -> Iterator[Finding]:
        """The segments that are no longer there."""
        there = self._archive.names() if self._segments else ()
        for name in sorted(self._segments.keys() - there):
            told = self._segments[name]
            sentence = (
                f"the segment {name} is no longer there: the archive told of it, "
                f"with {told.events} events of {told.runs} runs"
            )
            yield Finding(FindingKind.SEGMENT_MISSING, "damage", name, 0, None, sentence)

    def streams(
        self,
        chains: Mapping[tuple[str, str, int], StreamChain],
        run_ids: Container[str] | None,
        damaged: Container[str],
    ) -> Iterator[Finding]:
        """The streams that end before the event up to which they were counted.

        Args:
            chains: what the archive holds.
            run_ids: the runs that were looked at; None: all.
            damaged: runs in which something was found already, which may be why their streams end early.
        """
        for counted in sorted(self._streams):
            key = counted[:3]
            chain = chains.get(key)
            last = 0 if chain is None else max(chain.seq, *chain.ahead, 0)
            if last < counted.seq and counted.run_id not in damaged and (run_ids is None or counted.run_id in run_ids):
                event_id = str(EventId(*key, last + 1))
                sentence = (
                    f"{event_id} and what comes after it is no longer there: the auditor counted the stream up to "
                    f"{counted.seq} in {counted.place}, the archive has it up to {last}; a segment was removed"
                )
                yield Finding(FindingKind.MISSING, "damage", counted.place, 0, event_id, sentence)


def _segments(archive: ArchiveLog) -> dict[str, SegmentFinding]:
    try:
        return {told.name: told for told in archive.told()}
    except StoreUnavailable as error:
        _LOG.warning("tachograph: the segments that the catalogue knows are not compared: %s", error)
        return {}
