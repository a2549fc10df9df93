"""Checking what the archive holds: that every segment can be read, and its events against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tachograph.core.errors import CorruptFrame
from tachograph.stores._bodies import BodyCheck
from tachograph.stores._chain import Chains, Place
from tachograph.stores._findings import Finding, FindingKind
from tachograph.stores._verify_events import EventCheck
from tachograph.stores._verify_told import ToldCheck

if TYPE_CHECKING:
    from tachograph.stores.archive import ArchiveLog


class ArchiveCheck:
    """Takes in archived runs, as far as they have been archived: what is not shipped yet is not missing.

    Args:
        archive: where the runs are.
        bodies: gets every event, too.
        run_ids: the runs to look at; None: all.

    Raises:
        StoreUnavailable: the archive cannot be reached.
    """

    def __init__(self, archive: ArchiveLog, bodies: BodyCheck, run_ids: Sequence[str] | None) -> None:
        self._archive = archive
        self.chains: Final = Chains()
        self._events = EventCheck(self.chains, bodies, None)
        self._findings: list[Finding] = []
        self._told = ToldCheck(archive)
        archive.refresh(whole=True)
        known = frozenset(run_id for _, run_id in archive.cache.run_ids())
        self._known = known
        self._run_ids = [run_id for run_id in (sorted(known) if run_ids is None else run_ids) if run_id in known]
        self._whole = run_ids is None

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._known

    @property
    def count(self) -> int:
        """Events looked at."""
        return self._events.count

    @property
    def run_ids(self) -> Sequence[str]:
        """The runs that were looked at."""
        return self._run_ids

    def run(self, progress: Callable[[int, int], None]) -> None:
        """Look at every run."""
        for number, run_id in enumerate(self._run_ids):
            progress(number, len(self._run_ids))
            # What of a run that may go on is not there, may still come.
            self.chains.alive = not self._archive.cache.is_over(run_id)
            self._look(run_id)

    def findings(self) -> Iterator[Finding]:
        """What is wrong; to be asked for once, after `run`."""
        self.chains.finish()
        if self._whole:
            yield from (_unreadable(name, reason) for name, reason in self._archive.cache.damaged())
            yield from self._told.segments()
        found = [*self._findings, *self._events.findings, *filter(self._is_archived, self.chains.findings)]
        yield from found
        yield from self._told.streams(self.chains.streams, None if self._whole else self._run_ids, runs_of(found))
        yield from self._events.truncated()
        yield from self._events.state.findings(self.chains.streams, runs_of(found))

    def _look(self, run_id: str) -> None:
        try:
            for stored in self._archive.read(self._archive.cache.parts(run_id)):
                self._events.take(stored.payload, Place(stored.segment, stored.offset))
        except CorruptFrame as error:
            sentence = f"run {run_id} cannot be read on: {error}"
            self._findings.append(Finding(FindingKind.FRAME, "damage", error.path, error.offset, None, sentence))

    def _is_archived(self, finding: Finding) -> bool:
        """A cause in a run that is not archived at all is not missing: it may not be shipped yet."""
        if finding.kind is not FindingKind.MISSING or finding.event_id is None:
            return True
        return finding.event_id.partition("/")[0] in self._known


def runs_of(findings: Sequence[Finding]) -> frozenset[str]:
    """The runs that damage was found in."""
    damaged = (finding.event_id for finding in findings if finding.severity == "damage")
    return frozenset(event_id.partition("/")[0] for event_id in damaged if event_id is not None)


def _unreadable(name: str, reason: str) -> Finding:
    return Finding(FindingKind.HEADER, "damage", name, 0, None, f"the segment {name} cannot be read: {reason}")
