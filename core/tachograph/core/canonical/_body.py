"""Bodies: inline when small, else as chunks in the object store.

A body of many chunks names *groups*: objects that hold the keys of a run of chunks. A group ends where a chunk's key says
so, thus groups are shared between the bodies of a growing conversation as chunks are; the keys behind the last whole
group stand in the body itself. A group starts with a NUL byte, which no canonical JSON holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tachograph.core.canonical._chunks import cut
from tachograph.core.canonical._digest import Digester
from tachograph.core.errors import MissingBody
from tachograph.schemas import Body

if TYPE_CHECKING:
    from tachograph.core.ports import ObjectStore

INLINE_BYTES_MAX = 16 * 1024
"""A body up to this size lies in its event."""

_KEY_BYTES = 32
_GROUP = b"\0tachograph group\0"
_GROUP_KEYS_MIN = 4
_GROUP_KEYS_MAX = 64
_GROUP_ODDS = 4


def make_body(data: bytes, *, redacted: bool, digester: Digester) -> tuple[Body, tuple[tuple[bytes, bytes], ...]]:
    """A body for an event, and what to store before the event: (key, object) pairs, none when it is inline.

    Args:
        data: canonical JSON after redaction, as `encode_body` writes it.
        redacted: whether a value in it was replaced by a token.
        digester: under the tenant's digest key.
    """
    digest = digester.digest(data)
    if len(data) <= INLINE_BYTES_MAX:
        return Body(digest, len(data), redacted, data, ()), ()
    assert b"\0" not in data, "canonical JSON has no NUL byte"
    objects = [(digester.digest(chunk), chunk) for chunk in cut(data)]
    keys, groups = _grouped([key for key, _ in objects], digester)
    return Body(digest, len(data), redacted, None, keys), (*dict(objects).items(), *groups)


def _grouped(keys: list[bytes], digester: Digester) -> tuple[tuple[bytes, ...], list[tuple[bytes, bytes]]]:
    """The keys that stand in the body, and the groups to store: groups are grouped in turn."""
    objects: list[tuple[bytes, bytes]] = []
    behind: list[bytes] = []
    while True:
        groups, open_keys = _whole_groups(keys, digester)
        if not groups:
            return (*keys, *behind), objects
        objects += groups
        behind = [*open_keys, *behind]
        keys = [key for key, _ in groups]


def _whole_groups(keys: list[bytes], digester: Digester) -> tuple[list[tuple[bytes, bytes]], list[bytes]]:
    """Groups of keys, each under its own key, and the keys behind the last whole group."""
    groups: list[tuple[bytes, bytes]] = []
    open_keys: list[bytes] = []
    for key in keys:
        open_keys.append(key)
        if len(open_keys) >= _GROUP_KEYS_MIN and (key[0] % _GROUP_ODDS == 0 or len(open_keys) == _GROUP_KEYS_MAX):
            group = _GROUP + b"".join(open_keys)
            groups.append((digester.digest(group), group))
            open_keys = []
    return groups, open_keys


def read_body(body: Body, objects: ObjectStore, digester: Digester, event_id: str) -> bytes:
    """A body's canonical bytes, checked against its digest and size.

    Args:
        body: as an event holds it.
        objects: where its chunks are.
        digester: under the tenant's digest key.
        event_id: of the event that holds it, for the error.

    Raises:
        MissingBody: a chunk is not there, or bytes are not what they were.
    """
    data = body.inline
    if data is None:
        data = b"".join(_chunks(body, objects, digester, event_id))
    if len(data) != body.size:
        raise MissingBody(body.digest.hex(), event_id, f"it has {len(data)} bytes instead of {body.size}")
    if digester.digest(data) != body.digest:
        raise MissingBody(body.digest.hex(), event_id, "its bytes do not have its digest")
    return data


def _chunks(body: Body, objects: ObjectStore, digester: Digester, event_id: str) -> Iterator[bytes]:
    left = body.size
    for key in body_keys(body, objects, digester, event_id):
        chunk = _object(key, body, objects, digester, event_id)
        left -= len(chunk)
        if left < 0:
            raise MissingBody(body.digest.hex(), event_id, f"its chunks hold more than its {body.size} bytes")
        yield chunk


def body_keys(body: Body, objects: ObjectStore, digester: Digester, event_id: str) -> Iterator[bytes]:
    """The keys of a body's chunks in order, groups opened.

    Raises:
        MissingBody: a group is not there or not what it was.
    """
    waiting = list(reversed(body.chunks))
    while waiting:
        key = waiting.pop()
        inner = group_keys(_object(key, body, objects, digester, event_id))
        if inner:
            waiting += reversed(inner)
        else:
            yield key


def group_keys(data: bytes) -> tuple[bytes, ...]:
    """The keys that an object names: those of its group, none if it is a chunk."""
    if not data.startswith(_GROUP):
        return ()
    return tuple(data[start : start + _KEY_BYTES] for start in range(len(_GROUP), len(data), _KEY_BYTES))


def _object(key: bytes, body: Body, objects: ObjectStore, digester: Digester, event_id: str) -> bytes:
    data = objects.get(key)
    if data is None:
        raise MissingBody(body.digest.hex(), event_id, f"its object {key.hex()} is not in the object store")
    if digester.digest(data) != key:
        raise MissingBody(body.digest.hex(), event_id, f"its object {key.hex()} is not what was stored")
    return data
