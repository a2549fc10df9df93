"""Checking what stays of removed spools, and that the archive has what they held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tachograph.core.causality import EventId
from tachograph.core.errors import CorruptFrame, InvalidIdentifier
from tachograph.stores._chain import StreamChain, StreamKey
from tachograph.stores._findings import Finding, FindingKind
from tachograph.stores._retired import is_retired, read_retired, retired_names


class RetiredCheck:
    """The spools that count as removed: a container of the ids of their events.

    Args:
        log_directory: where the spools were.

    Raises:
        StoreUnavailable: the operating system refuses.
    """

    def __init__(self, log_directory: Path) -> None:
        self.findings: Final[list[Finding]] = []
        self._log_directory = log_directory
        self._streams: dict[StreamKey, tuple[int, str]] = {}
        for name in retired_names(log_directory):
            self._take(name)

    def __contains__(self, event_id: object) -> bool:
        try:
            found = EventId.parse(str(event_id))
        except InvalidIdentifier:
            return False
        last, _ = self._streams.get((found.run_id, found.agent_id, found.incarnation), (0, ""))
        return found.seq <= last

    def holds(self, spool: str) -> bool:
        """Whether a spool counts as removed, perhaps since a moment ago."""
        return is_retired(self._log_directory, spool)

    def lost(self, archived: Mapping[StreamKey, StreamChain]) -> Iterator[Finding]:
        """Streams of which the archive does not have what it had when their spool was removed."""
        for key, (last, spool) in self._streams.items():
            chain = archived.get(key)
            if chain is None or max(chain.seq, *chain.ahead, 0) < last:
                name = str(EventId(*key, last))
                sentence = f"{name} is not in the archive any more; the spool {spool} was removed because it was there."
                yield Finding(FindingKind.MISSING, "damage", f"log/{spool}", 0, name, sentence)

    def _take(self, name: str) -> None:
        try:
            retired = read_retired(self._log_directory, name)
        except CorruptFrame as error:
            self.findings.append(Finding(FindingKind.FRAME, "damage", error.path, error.offset, None, str(error)))
            return
        for key, seq in retired.streams.items():
            if seq > self._streams.get(key, (0, ""))[0]:
                self._streams[key] = seq, name
