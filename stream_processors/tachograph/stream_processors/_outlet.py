"""What processors of events tell others: records to quarantine, findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tachograph.core.findings import Condition, Finding, IntegrityFinding, SegmentFinding, finding_bytes
from tachograph.core.integrity import IntegrityState, StreamKey
from tachograph.stores.archive import StoredSegment
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import (
    EventProducer,
    Failed,
    KafkaUnavailable,
    QueueFull,
    Record,
    RecordTooLarge,
    topic_name,
)

REASON_HEADER: Final = "tacho-reason"
SOURCE_HEADER: Final = "tacho-source"
CUT_HEADER: Final = "tacho-cut"
"""Of a record that is too large for quarantine: how many bytes it had; the source tells where all of it lies."""

_REASON_CHARACTERS_MAX: Final = 2_000
_CUT_BYTES: Final = 64 * 1024


class Outlet:
    """Produces to `quarantine` and `findings`. What it was given is there once `flush` has returned.

    Args:
        settings: of the cluster.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._failed: list[Failed] = []
        self._quarantine = topic_name(settings, "quarantine")
        self._findings = topic_name(settings, "findings")
        self._producer = EventProducer(settings, self._failed.append)

    def quarantine(self, record: Record, reason: str) -> None:
        """Put a record aside, as it is, with the reason and where it came from.

        Raises:
            StoreUnavailable: the topic cannot take it.
        """
        source = f"{record.topic}/{record.partition}/{record.offset}"
        told = [(REASON_HEADER, reason[:_REASON_CHARACTERS_MAX].encode()), (SOURCE_HEADER, source.encode())]
        headers = [*record.headers, *told]
        try:
            self._produce(self._quarantine, record.key, record.value, headers, record.timestamp_ms)
        except RecordTooLarge:
            value = record.value or b""
            cut = [*told, (CUT_HEADER, str(len(value)).encode())]
            self._produce(self._quarantine, (record.key or b"")[:200], value[:_CUT_BYTES], cut, record.timestamp_ms)

    def find(self, findings: Iterable[Finding]) -> None:
        """Publish findings.

        Raises:
            StoreUnavailable: the topic cannot take them.
        """
        for finding in findings:
            self._produce(self._findings, finding.run_id.encode(), finding_bytes(finding), [], 0)

    def flush(self, seconds: float) -> None:
        """Return when everything is acknowledged.

        Raises:
            KafkaUnavailable: it was not in time; what was given is still on its way.
            StoreUnavailable: the cluster refuses a record for good.
        """
        waiting = self._producer.flush(seconds)
        if self._failed:
            raise self._failed[0].error
        if waiting:
            reason = self._producer.statistics().latest_error or "nothing is acknowledged"
            raise KafkaUnavailable(self._settings.bootstrap, f"{waiting} records wait: {reason}")

    def close(self) -> None:
        """Let go of the cluster."""
        self._producer.close()

    def _produce(
        self, topic: str, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]], timestamp_ms: int
    ) -> None:
        try:
            self._producer.produce(topic, key, value, headers, max(0, timestamp_ms))
        except QueueFull:
            self.flush(_QUEUE_SECONDS)
            self._producer.produce(topic, key, value, headers, max(0, timestamp_ms))


_QUEUE_SECONDS: Final = 30.0


def segment_finding(stored: StoredSegment) -> SegmentFinding:
    """A segment that is stored and verified."""
    return SegmentFinding(
        tenant=stored.tenant,
        name=stored.name,
        topic=stored.topic,
        partition=stored.partition,
        first_offset=stored.first_offset,
        last_offset=stored.last_offset,
        runs=stored.runs,
        events=stored.events,
        size=stored.size,
    )


def integrity_finding(key: StreamKey, state: IntegrityState, offset: int) -> IntegrityFinding:
    """What was counted in a stream up to an offset of its partition."""
    return IntegrityFinding(
        run_id=key.run_id,
        tenant=key.tenant,
        agent_id=key.agent_id,
        incarnation=key.incarnation,
        condition=state.condition,
        events=state.events,
        seq=state.seq,
        problems=state.problems,
        offset=offset,
    )


def is_told(state: IntegrityState, *, complete: bool) -> bool:
    """Whether a stream's state is news: something is wrong with it, or nothing is and it has ended."""
    return complete or state.condition is not Condition.INTACT
