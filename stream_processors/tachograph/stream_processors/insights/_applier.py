"""Brings sorted findings to the catalogues of their tenants, and what follows from them to the topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from tachograph.core.findings import EffectFinding, Finding, RunFinding, finding_bytes
from tachograph.stream_processors.insights._step import Arrived, Poison, sort
from tachograph.stream_processors.insights._trends import SignatureTrend, Trends

_FORMAT = 1


class FindingSink(Protocol):
    """A tenant's catalogue."""

    def apply(self, findings: Iterable[Finding]) -> int:
        """Take findings in; returns how many took a place."""
        ...


@dataclass(frozen=True, slots=True)
class Publication:
    """A record that follows from findings."""

    topic: str
    """Without its prefix: `effects`, `signatures` or `quarantine`."""
    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


Publish = Callable[[Sequence[Publication]], None]
"""Returns once all are written; raises StoreUnavailable where that cannot be said."""


@dataclass(frozen=True, slots=True)
class InsightsStatistics:
    """What was done so far."""

    findings: int
    applied: int
    """That took a place in a catalogue: the others were there already, or older."""
    poison: int
    published: int


class Applier:
    """Applies batches. A batch that raised can be applied again: nothing changes twice.

    Args:
        catalogue: gives the catalogue of a tenant.
        publish: writes records.
        trends: the windows, filled already with what the catalogues hold.
    """

    def __init__(self, catalogue: Callable[[str], FindingSink], publish: Publish, trends: Trends) -> None:
        self.trends = trends
        self._catalogue = catalogue
        self._publish = publish
        self._findings = self._applied = self._poison = self._published = 0
        self._touched: set[tuple[str, str]] = {(trend.tenant, trend.name) for trend in trends.signatures()}

    def apply(self, batch: Sequence[Arrived]) -> None:
        """Apply a batch; what is no finding goes to quarantine, acknowledged like everything else.

        Raises:
            StoreUnavailable: a server does not answer; the batch is to be applied again.
        """
        found = sort(batch)
        publications = [_quarantined(poison) for poison in found.poison]
        for tenant, findings in found.by_tenant.items():
            self._applied += self._catalogue(tenant).apply(findings)
            for finding in findings:
                self.trends.add(finding)
                if isinstance(finding, EffectFinding):
                    publications.append(Publication("effects", finding.row.effect_id.encode(), finding_bytes(finding)))
                elif isinstance(finding, RunFinding):
                    self._touched.update((tenant, name) for name in finding.row.signatures)
        self._tell(publications)
        self._findings += sum(map(len, found.by_tenant.values()))
        self._poison += len(found.poison)

    def publish_trends(self) -> None:
        """Write the trend of every signature that findings touched since the last time; at first of all there are.

        Raises:
            StoreUnavailable: as `apply`.
        """
        if self._touched:
            changed = [trend for trend in self.trends.signatures() if (trend.tenant, trend.name) in self._touched]
            self._tell([_signature(trend) for trend in changed])
            self._touched.clear()

    def statistics(self) -> InsightsStatistics:
        """What was done so far."""
        return InsightsStatistics(self._findings, self._applied, self._poison, self._published)

    def _tell(self, publications: Sequence[Publication]) -> None:
        if publications:
            self._publish(publications)
            self._published += len(publications)


def _signature(trend: SignatureTrend) -> Publication:
    document = {"format": _FORMAT, "kind": "signature-trend", "trend": trend}
    key = f"{trend.tenant}/{trend.name}".encode()
    return Publication("signatures", key, orjson.dumps(document, option=orjson.OPT_SORT_KEYS))


def _quarantined(poison: Poison) -> Publication:
    record = poison.record
    source = f"{record.topic}/{record.partition}/{record.offset}"
    headers = (("tacho-reason", poison.reason.encode()), ("tacho-source", source.encode()))
    return Publication("quarantine", record.key or b"", record.value or b"", headers)
