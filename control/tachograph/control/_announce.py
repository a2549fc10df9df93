"""Tells the fleet of finished replays, where there is a Kafka: windows over all of them are made of that."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from tachograph.control._escape import escape
from tachograph.control._sources import now_us
from tachograph.core.errors import StoreUnavailable
from tachograph.core.findings import ReplayFinding, ReplayState, finding_bytes
from tachograph.core.ports import ReplayResult
from tachograph.stores import Home
from tachograph.stores.backend import KafkaSettings, backend_of

WAIT_SECONDS = 5.0
"""A replay is not kept waiting for longer by a cluster that does not answer."""


def announce(home: Home, results: Sequence[ReplayResult]) -> None:
    """Tell what exact replays proved; a cluster that cannot be told is said on standard error, and is no failure."""
    kafka = backend_of().kafka
    if kafka is None or not results:
        return
    findings = [_finding(home, result) for result in results]
    answers: list[str] = []
    sending = threading.Thread(target=lambda: answers.append(_sent(kafka, findings)), daemon=True)
    sending.start()
    sending.join(WAIT_SECONDS)
    problem = answers[0] if answers else f"no broker of {kafka.bootstrap} answered within {WAIT_SECONDS:.0f} s"
    if problem:
        print(f"tacho: the fleet was not told of this replay: {escape(problem)}", file=sys.stderr)  # noqa: T201 the face of the command line


def _sent(kafka: KafkaSettings, findings: Sequence[ReplayFinding]) -> str:
    """Why not all are there; empty where they are."""
    try:
        return _send(kafka, findings)
    except StoreUnavailable as error:
        return str(error)


def _send(kafka: KafkaSettings, findings: Sequence[ReplayFinding]) -> str:
    from tachograph.stores.kafka import EventProducer, Failed, topic_name

    refused: list[Failed] = []
    with EventProducer(kafka, refused.append) as producer:
        for finding in findings:
            producer.produce(topic_name(kafka, "replays"), finding.run_id.encode(), finding_bytes(finding))
        waiting = producer.flush(WAIT_SECONDS)
        if waiting:
            return producer.statistics().latest_error or f"no broker of {kafka.bootstrap} answered"
    return str(refused[0].error) if refused else ""


def _finding(home: Home, result: ReplayResult) -> ReplayFinding:
    at_us = now_us()
    divergence = result.verdict.first_divergence
    return ReplayFinding(
        job_id=f"tacho-{at_us}-{result.run_id}",
        tenant=home.catalogue.run(result.run_id).tenant,
        run_id=result.run_id,
        mode="EXACT",
        state=ReplayState.FAILED if result.error else ReplayState.COMPLETED,
        result=None if result.error else result.verdict.status.value.upper(),
        divergence=None if divergence is None else divergence.kind,
        code_version=result.verdict.replayed_code,
        at_us=at_us,
        seconds=result.seconds,
    )
