"""Events as the auditor looks at them, for tests."""

from __future__ import annotations

from tachograph.core.integrity import Head
from tachograph.schemas import CONTENT_OFFSET, HASH, decode_meta, schema_tag


def head_of(payload: bytes) -> Head:
    """A payload's head."""
    meta = decode_meta(payload)
    tag = schema_tag(payload)
    ends = tag.startswith(("RunFinished/", "AgentFinished/"))
    causes = tuple(cause.hash for cause in meta.causes)
    return Head(meta.seq, payload[HASH], tag, payload[CONTENT_OFFSET:], causes, ends)
