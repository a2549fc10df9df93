"""Which objects a spool's events rely on: from the list beside its segments, or from the events themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tachograph.core.canonical import group_keys
from tachograph.core.errors import EvidenceBroken
from tachograph.core.ports import ObjectStore
from tachograph.schemas import decode
from tachograph.stores._bodies import bodies_of
from tachograph.stores._referred import BODIES_NAME
from tachograph.stores._segments import read_segment

KEY_BYTES = 32


def listed_keys(spool: Path, start: int) -> tuple[list[bytes], int] | None:
    """The keys in a spool's list from a byte on, and where they end; None where the spool has no list.

    Read after the events: then it names all that those rely on.

    Raises:
        StoreUnavailable: the operating system refuses.
    """
    path = spool / BODIES_NAME
    if not path.exists():
        return None
    data = read_segment(path, start, max(0, path.stat().st_size - start))
    whole = len(data) // KEY_BYTES * KEY_BYTES
    return [data[at : at + KEY_BYTES] for at in range(0, whole, KEY_BYTES)], start + whole


def keys_of(payload: bytes, objects: ObjectStore) -> Iterator[bytes]:
    """The keys of an event's bodies, groups and what they hold; of an event that cannot be decoded, none.

    Raises:
        StoreUnavailable: the objects cannot be read.
    """
    try:
        bodies = list(bodies_of(decode(payload)))
    except EvidenceBroken:
        return
    for body in bodies:
        yield from _opened(body.chunks, objects)


def _opened(keys: Sequence[bytes], objects: ObjectStore) -> Iterator[bytes]:
    waiting = list(reversed(keys))
    while waiting:
        key = waiting.pop()
        yield key
        data = objects.get(key)
        if data is not None:
            waiting += reversed(group_keys(data))
