"""What the auditor counted of a tenant's streams, from its own state in the bucket."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final, NamedTuple

from tachograph.core.errors import CorruptPayload
from tachograph.core.integrity import PartitionAudit
from tachograph.stores.s3 import Bucket, S3Refused

_LOG: Final = logging.getLogger("tachograph.archive")

_AUDITS: Final = "audit/"


class Counted(NamedTuple):
    """How far a stream was counted: all of it up to there had been stored before."""

    run_id: str
    agent_id: str
    incarnation: int
    seq: int
    """The highest."""
    place: str
    """`TOPIC/PARTITION`."""


def counted_streams(bucket: Bucket, tenant: str) -> Iterator[Counted]:
    """The streams of a tenant that the auditor remembers; none where this user may not read what it keeps.

    Args:
        bucket: where the archive is.
        tenant: whose streams.

    Raises:
        StoreUnavailable: the bucket cannot be read.
    """
    try:
        for topic in bucket.folders(_AUDITS):
            for folder in bucket.folders(topic):
                yield from _newest(bucket, folder, tenant)
    except S3Refused as error:
        _LOG.warning("tachograph: what the auditor counted is not compared: %s", error)


def _newest(bucket: Bucket, folder: str, tenant: str) -> Iterator[Counted]:
    name = max(bucket.names(folder), default=None)
    data = None if name is None else bucket.get(name)
    if data is None:
        return
    try:
        audit = PartitionAudit.from_bytes(data)
    except CorruptPayload as error:
        _LOG.warning("tachograph: the audit %s is not compared: %s", name, error)
        return
    place = folder.removeprefix(_AUDITS).rstrip("/")
    for key, stream in audit.remembered():
        if key.tenant == tenant:
            yield Counted(key.run_id, key.agent_id, key.incarnation, stream.state.seq, place)
