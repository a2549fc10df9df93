"""Checking that segments and spools are all there and follow each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tachograph.stores._findings import Finding, FindingKind
from tachograph.stores._frame import GENESIS_SEAL
from tachograph.stores._retired import is_retired, retired_names
from tachograph.stores._segments import Spool, segment_size
from tachograph.stores._spool import segment_name
from tachograph.stores._spool_list import listed_spools

KnownSegments = Mapping[tuple[str, int], int]
"""Bytes of each segment (spool, number) that the catalogue has read."""


def check_numbers(spool: Spool) -> list[Finding]:
    """The segments that must be there and are not."""
    last = max(spool.numbers, default=0)
    if spool.closing is not None:
        last = max(last, spool.closing.segments)
    missing = sorted(set(range(1, last + 1)) - set(spool.numbers))
    return [_missing(spool.name, number, "others of its spool need it") for number in missing]


def check_closing(
    spool: Spool, seals: Mapping[int, bytes | None], previous: Mapping[int, bytes | None]
) -> list[Finding]:
    """Segments that do not follow each other, and a spool that does not end as it was closed."""
    findings: list[Finding] = []
    for number, carried in previous.items():
        sealed = GENESIS_SEAL if number == 1 else seals.get(number - 1)
        if carried is not None and sealed is not None and carried != sealed:
            findings.append(_seal(spool, number, "it does not continue the segment before it"))
    closing = spool.closing
    if closing is None:
        return findings
    last = seals.get(closing.segments)
    if last is not None and last != closing.seal:
        findings.append(_seal(spool, closing.segments, "its seal is not the one with which the spool was closed"))
    findings += [
        _seal(spool, number, "it was added after the spool was closed")
        for number in spool.numbers
        if number > closing.segments
    ]
    return findings


def check_presence(log_directory: Path, spools: Sequence[Spool], known: KnownSegments) -> list[Finding]:
    """Spools and segments that were there once."""
    there = {spool.name: spool for spool in spools}
    gone = sorted(({name for name, _ in known} | set(listed_spools(log_directory))) - set(retired_names(log_directory)))
    findings = [
        Finding(FindingKind.SPOOL_MISSING, "damage", f"log/{name}", 0, None, f"the spool {name} is not there any more.")
        for name in gone
        if name not in there
    ]
    for (name, number), size in known.items():
        spool = there.get(name)
        if spool is None or is_retired(log_directory, name):
            continue
        if number not in spool.numbers:
            findings += (
                [] if number < max(spool.numbers, default=0) else [_missing(name, number, "the catalogue has read it")]
            )
        elif (now := segment_size(spool.path / segment_name(number))) < size:
            sentence = f"the segment has {now} bytes; the catalogue has read {size} of it: its end was cut off."
            findings.append(Finding(FindingKind.SHORTENED, "damage", _path(name, number), now, None, sentence))
    return findings


def _missing(spool: str, number: int, why: str) -> Finding:
    sentence = f"segment {number} of the spool {spool} is not there; {why}."
    return Finding(FindingKind.SEGMENT_MISSING, "damage", _path(spool, number), 0, None, sentence)


def _seal(spool: Spool, number: int, what: str) -> Finding:
    return Finding(FindingKind.SEAL, "damage", _path(spool.name, number), 0, None, f"segment {number}: {what}.")


def _path(spool: str, number: int) -> str:
    return f"log/{spool}/{segment_name(number)}"
