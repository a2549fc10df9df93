"""What a partition brought and is not stored yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from tachograph.core.findings import Finding
from tachograph.core.integrity import PartitionAudit, Verdict
from tachograph.schemas import EvidenceBroken, UnsupportedSchema, decode, is_optional
from tachograph.stores.archive import SegmentRecord
from tachograph.stores.kafka import TopicPartition
from tachograph.stream_processors.archive._screen import Poison, PoisonKind, Screened

_TO_BE_DECODED = frozenset({Verdict.BROKEN, Verdict.EARLY, Verdict.UNPROVED})
"""What the chain does not vouch for: then nothing says that a recorder has written it."""


@dataclass(slots=True)
class PartitionGather:
    """One partition: its auditor, and what waits for the next segments."""

    place: TopicPartition
    audit: PartitionAudit
    position: int
    """Offset of the next record; commits go up to here."""
    committed: int
    tenants: dict[str, list[SegmentRecord]] = field(default_factory=dict[str, list[SegmentRecord]])
    findings: list[Finding] = field(default_factory=list[Finding])
    """Of the auditor, not published yet."""
    bytes: int = 0
    since: float | None = None
    """When the oldest record came that is not committed; seconds of a clock that only goes forward."""

    def take(self, screened: Screened) -> Verdict:
        """Count an event, and hold it for the next segment unless the same one is stored for sure.

        Raises:
            Poison: it does not fit the others, and cannot be decoded either.
        """
        key, record = screened.key, screened.record
        verdict = self.audit.add(key, screened.head, record.hlc)
        if verdict is Verdict.DUPLICATE and not self.audit.audit(key).broken:
            return verdict
        if verdict in _TO_BE_DECODED:
            _check_decodable(record.payload)
        self.tenants.setdefault(key.tenant, []).append(record)
        self.bytes += len(record.payload)
        return verdict

    def passed(self, offset: int, now: float) -> None:
        """The record at this offset was looked at, whatever it was."""
        self.position = offset + 1
        if self.since is None:
            self.since = now

    def stored(self) -> None:
        """Nothing waits any more."""
        self.tenants = {}
        self.findings = []
        self.bytes = 0
        self.since = None


def _check_decodable(payload: bytes) -> None:
    try:
        decode(payload)
    except UnsupportedSchema:
        if not is_optional(payload):
            raise
    except EvidenceBroken as error:
        raise Poison(PoisonKind.UNDECODABLE, str(error)) from error
