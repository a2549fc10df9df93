"""Making the catalogue in Redis anew from the archive, and comparing the two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tachograph.core.findings import EffectRow, Finding, RunRow
from tachograph.core.state import SignatureHit
from tachograph.stores.redis._catalogue import RedisCatalogue

DIFFERENCES_MAX: Final = 100
"""Differences told one by one; more of them say no more."""


def rebuild_redis(catalogue: RedisCatalogue, findings: Iterable[Finding], *, check: bool) -> tuple[str, ...]:
    """Compare the catalogue with what findings made anew give, run by run and effect by effect.

    What cannot be made from events (what auditors and replays said) stays as it is.

    Args:
        catalogue: a tenant's.
        findings: of every run, at its end.
        check: only compare; else what was made anew takes the catalogue's place.

    Returns:
        Sentences, the first DIFFERENCES_MAX.

    Raises:
        StoreUnavailable: the server does not answer.
    """
    with catalogue.scratch() as made:
        made.apply(findings)
        every = _differences(catalogue, made)
        differences = tuple(sentence for sentence, _ in zip(every, range(DIFFERENCES_MAX), strict=False))
        if not check:
            catalogue.take_over(made)
    return differences


def _differences(present: RedisCatalogue, made: RedisCatalogue) -> Iterator[str]:
    yield from _compared("runs", _by_run(present.runs()), _by_run(made.runs()))
    yield from _compared("effects", _by_effect(present.effects()), _by_effect(made.effects()))
    run_ids = [finding.row.run_id for finding in made.run_findings() if finding.row.signatures]
    yield from _compared("signatures", _hits(present, run_ids), _hits(made, run_ids))


def _compared(table: str, present: dict[str, object], made: dict[str, object]) -> Iterator[str]:
    for key in sorted(present.keys() | made.keys()):
        have, give = present.get(key), made.get(key)
        if give is None:
            yield f"{table}: the catalogue has {key}, the archive does not give it."
        elif have is None:
            yield f"{table}: the archive gives {key}, the catalogue does not have it."
        elif have != give:
            yield f"{table}: of {key} the catalogue has {have!r}, the archive gives {give!r}."


def _by_run(rows: Sequence[RunRow]) -> dict[str, object]:
    return {row.run_id: row for row in rows}


def _by_effect(rows: Sequence[EffectRow]) -> dict[str, object]:
    return {row.effect_id: row for row in rows}


def _hits(catalogue: RedisCatalogue, run_ids: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for run_id in run_ids:
        hits: Sequence[SignatureHit] = catalogue.hits(run_id)
        found |= {f"{run_id} {hit.name} {hit.agent_id}": hit.sentence for hit in hits}
    return found
