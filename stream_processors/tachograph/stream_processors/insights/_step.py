"""What arrives, read and sorted: which finding stands, whose it is, and what is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tachograph.core.errors import EvidenceBroken
from tachograph.core.findings import EffectFinding, Finding, RunFinding, finding_of, newer


@dataclass(frozen=True, slots=True)
class Arrived:
    """A record as it came."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Poison:
    """A record that is no finding."""

    record: Arrived
    reason: str


@dataclass(frozen=True, slots=True)
class Sorted:
    """A batch, sorted."""

    by_tenant: Mapping[str, Sequence[Finding]]
    """Of findings with one key only the one that stands."""
    poison: Sequence[Poison]


def sort(batch: Sequence[Arrived]) -> Sorted:
    """Read a batch; what cannot be read is poison and hides nothing else."""
    standing: dict[tuple[str, str], Finding] = {}
    poison: list[Poison] = []
    for record in batch:
        try:
            finding = finding_of(record.value or b"")
        except EvidenceBroken as error:
            poison.append(Poison(record, str(error)))
            continue
        place = (tenant_of(finding), finding.key)
        if place not in standing or newer(finding, standing[place]):
            standing[place] = finding
    by_tenant: dict[str, list[Finding]] = {}
    for (tenant, _), finding in standing.items():
        by_tenant.setdefault(tenant, []).append(finding)
    return Sorted(by_tenant, poison)


def tenant_of(finding: Finding) -> str:
    """Whose finding it is."""
    return finding.row.tenant if isinstance(finding, RunFinding | EffectFinding) else finding.tenant
