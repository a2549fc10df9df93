"""Writing findings into the catalogue in Redis, and the plain client that makes the same writes."""

from __future__ import annotations

from itertools import count as counting

import redis as client

from bench._measure import Figures, Subject, timed
from bench._servers import redis
from tachograph.core.findings import (
    EffectFinding,
    EffectRow,
    Finding,
    Position,
    RunFinding,
    RunRow,
    RunStatus,
    finding_bytes,
)
from tachograph.schemas import EffectState
from tachograph.stores.redis import RedisCatalogue
from tachograph.stores.redis._script import ledger_digest

_BATCH = 500


def findings(count: int, position: int) -> list[Finding]:
    """Rows of runs, half of them with an effect and a signature."""
    found: list[Finding] = []
    for number in range(count // 2):
        run_id = f"run-{number:032x}"
        at = Position(position, position << 16, over=True)
        names = ("SIDE_EFFECT_UNKNOWN",) if number % 2 else ()
        row = RunRow(
            run_id, "default", "desk", RunStatus.FINISHED, "OK", number * 1000, number * 2000, 4, 60, "COMPLETE",
            (), 1, number % 2, names, None, "desk:main",
        )  # fmt: skip
        effect = EffectRow(
            f"{run_id}/mailer#1.9", run_id, "mailer", "default", "send_mail", f"mail:{number}", EffectState.UNKNOWN,
            number * 1000, None, "recorder",
        )  # fmt: skip
        found += [EffectFinding(effect, (position << 16, "mailer", 1, 12), at), RunFinding(row, at, number << 16)]
    return found


def apply() -> Subject:
    """Wall time of a finding: version, place in every index, and counts."""
    catalogue = RedisCatalogue(redis(14), "default")
    rounds = counting(1)

    def run(count: int) -> Figures:
        batch = findings(count, next(rounds))
        return timed(lambda _: _applied(catalogue, batch), len(batch))

    return run


def _applied(catalogue: RedisCatalogue, batch: list[Finding]) -> None:
    assert catalogue.apply(batch) == len(batch)


def pipeline() -> Subject:
    """Wall time of a finding: the same writes by redis-py's pipeline, without looking at what is there."""
    server = client.Redis.from_url(redis(15).url.text)
    rounds = counting(1)

    def run(count: int) -> Figures:
        batch = findings(count, next(rounds))
        return timed(lambda _: _piped(server, batch), len(batch))

    return run


def _piped(server: client.Redis, batch: list[Finding]) -> None:
    for start in range(0, len(batch), _BATCH):
        piped = server.pipeline(transaction=False)
        for finding in batch[start : start + _BATCH]:
            if isinstance(finding, EffectFinding):
                _effect(piped, finding)
            elif isinstance(finding, RunFinding):
                _run(piped, finding)
        piped.execute()


def _run(piped: client.client.Pipeline, finding: RunFinding) -> None:
    row = finding.row
    piped.hset("findings:run", finding.key, finding_bytes(finding))
    piped.zadd("runs", {f"{finding.first_hlc:020}/{row.run_id}": 0})
    for name in row.signatures:
        piped.hset(f"signature:{name}", row.run_id, str(row.started_at_us))


def _effect(piped: client.client.Pipeline, finding: EffectFinding) -> None:
    row = finding.row
    piped.hset("findings:effect", finding.key, finding_bytes(finding))
    piped.sadd(f"effects-of:{row.run_id}", row.effect_id)
    piped.sadd(f"effects-under:{ledger_digest(row.name, row.idempotency_key or '')}", row.effect_id)
    piped.hset("counts", row.run_id, "1 1")
