"""Recounting streams: what an independent auditor says of events as they come, in any order and however often.

`StreamAudit` recounts one stream, `PartitionAudit` all streams of a partition of the log, within bounded memory.
"""

from tachograph.core.integrity._head import Head, Verdict
from tachograph.core.integrity._partition import Limits, PartitionAudit, StreamKey
from tachograph.core.integrity._stream import IntegrityState, StreamAudit

__all__ = ["Head", "IntegrityState", "Limits", "PartitionAudit", "StreamAudit", "StreamKey", "Verdict"]
