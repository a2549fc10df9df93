"""The hash that chains an event to its stream and its causes: a Merkle DAG."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256

HASH_BYTES = 32

GENESIS = bytes(HASH_BYTES)
"""The previous hash of a stream's first event."""

_DOMAIN = b"tachograph.event.v1\0"


def event_hash(schema_tag: str, content: bytes, previous: bytes, causes: Sequence[bytes]) -> bytes:
    """The hash of an event, 32 bytes: SHA-256 over what follows, lengths big-endian.

        domain | previous, 32 bytes | number of causes, 4 bytes | causes, 32 bytes each
        | length of tag, 4 bytes | tag | length of content, 8 bytes | content

    No two events have the same encoding.

    Args:
        schema_tag: type name and schema version, as in `CallStarted/1`.
        content: the event's bytes behind its hash.
        previous: hash of the stream's previous event, GENESIS for the first.
        causes: hashes of the direct causes in other streams, in the order the event names them.
    """
    if len(previous) != HASH_BYTES or (causes and any(len(cause) != HASH_BYTES for cause in causes)):
        raise ValueError(f"a hash has {HASH_BYTES} bytes")
    count = len(causes).to_bytes(4, "big")
    length = len(content).to_bytes(8, "big")
    return sha256(b"".join((_DOMAIN, previous, count, *causes, _tag(schema_tag), length, content))).digest()


@cache
def _tag(schema_tag: str) -> bytes:
    """A tag behind its length; there are as many tags as schemas."""
    tag = schema_tag.encode()
    return len(tag).to_bytes(4, "big") + tag
