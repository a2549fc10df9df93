"""What the auditor said of archived streams, in plain words; and whether the catalogue lags behind the archive."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tachograph.control._answer import Document
from tachograph.core.errors import StoreUnavailable
from tachograph.core.findings import Condition, IntegrityFinding
from tachograph.stores import Home, UnionCatalogue

_WORDS: Final[Mapping[Condition, str]] = {
    Condition.INTACT: "every event is there",
    Condition.LATE: "an event came after its end",
    Condition.GAPPED: "events are missing",
    Condition.FORKED: "two different events claim one place",
    Condition.BROKEN: "a hash does not fit",
}
_WORST: Final = list(Condition)

Problems = Mapping[str, Sequence[IntegrityFinding]]
"""By run id; a run of which there is nothing to say is not named."""


def problems_of(home: Home) -> Problems:
    """What the auditor said, as far as the catalogue was told."""
    found: dict[str, list[IntegrityFinding]] = {}
    if isinstance(home.catalogue, UnionCatalogue):
        for finding in home.catalogue.problems():
            found.setdefault(finding.run_id, []).append(finding)
    return found


def unlisted(home: Home, listed: Collection[str]) -> int:
    """How many archived runs a catalogue that others fill does not list; 0 where the archive cannot be asked."""
    if home.archive is None or not isinstance(home.catalogue, UnionCatalogue) or not home.catalogue.may_lag:
        return 0
    try:
        return len(set(home.archive.run_ids()) - set(listed))
    except StoreUnavailable:
        return 0


def lag_sentence(lacking: int, listed: int) -> str:
    """What a person is told of a catalogue that lacks runs."""
    if not listed:
        return f"The catalogue is empty, the archive has {lacking} runs: `tacho rebuild` brings them back."
    return (
        f"The catalogue lags behind the archive: {lacking} archived runs are not in it. Where `tacho process fold` and "
        f"`tacho process insights` run, new ones come by themselves; `tacho rebuild` brings all back."
    )


def worst(findings: Sequence[IntegrityFinding]) -> str:
    """The worst condition of a run's streams; empty where none is told of."""
    return max((finding.condition for finding in findings), key=_WORST.index, default="")


def audit_document(findings: Sequence[IntegrityFinding]) -> Document:
    """As in `docs/cli.md`."""
    return [
        {
            "agent": one.agent_id,
            "incarnation": one.incarnation,
            "condition": one.condition.value,
            "events": one.events,
            "seq": one.seq,
            "problems": list(one.problems),
        }
        for one in findings
    ]


def sentence_of(finding: IntegrityFinding) -> str:
    """One stream in one line."""
    life = "" if finding.incarnation == 1 else f"#{finding.incarnation}"
    reasons = f": {'; '.join(finding.problems)}" if finding.problems else ""
    return f"{finding.agent_id}{life} is {finding.condition.value}, {_WORDS[finding.condition]}{reasons}"
