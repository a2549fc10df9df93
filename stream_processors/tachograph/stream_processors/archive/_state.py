"""The auditor's own state in S3: `audit/TOPIC/PARTITION/OFFSET.json`, OFFSET being the next record's."""

from __future__ import annotations

import logging
from typing import Final

from tachograph.core.errors import CorruptPayload
from tachograph.core.integrity import PartitionAudit
from tachograph.stores.kafka import TopicPartition
from tachograph.stores.s3 import Bucket, name_part

_LOG: Final = logging.getLogger("tachograph.archive")

_KEPT: Final = 2
"""The newest, and the one before: a commit may have failed after the newest was stored."""

_DIGITS: Final = 20


class AuditStates:
    """Keeps a partition's audit beside its commits.

    Args:
        bucket: where.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def load(self, place: TopicPartition, offset: int) -> PartitionAudit:
        """The audit of a partition's records before an offset.

        A partition whose audit is not there, or not readable, is counted from that offset on.

        Raises:
            StoreUnavailable: S3 does not answer.
        """
        if offset == 0:
            return PartitionAudit()
        # Where records were gone before they were read there is an older one, which tells what lacks.
        before = [name for name in self._bucket.names(self._folder(place)) if name <= self._name(place, offset)]
        if before:
            try:
                return PartitionAudit.from_bytes(self._bucket.get(before[-1]) or b"")
            except CorruptPayload as error:
                _LOG.warning("tachograph: the audit %s cannot be read, counting begins anew: %s", before[-1], error)
        return PartitionAudit(from_start=False)

    def save(self, place: TopicPartition, offset: int, audit: PartitionAudit) -> None:
        """Store the audit of a partition's records before an offset.

        Raises:
            StoreUnavailable: S3 does not answer.
        """
        name, data = self._name(place, offset), audit.to_bytes()
        # Another processor may have come here before: its counts are made of the same records.
        self._bucket.put_new(name, data)

    def prune(self, place: TopicPartition, offset: int) -> None:
        """Remove what commits have left behind.

        Raises:
            StoreUnavailable: S3 does not answer.
        """
        newest = self._name(place, offset)
        names = [name for name in self._bucket.names(self._folder(place)) if name <= newest]
        for name in names[:-_KEPT]:
            self._bucket.remove(name)

    def _name(self, place: TopicPartition, offset: int) -> str:
        return f"{self._folder(place)}{offset:0{_DIGITS}}.json"

    def _folder(self, place: TopicPartition) -> str:
        return f"audit/{name_part(place.topic)}/{place.partition}/"
