"""A segment's bytes: an Avro object container that `read_container`, or anybody's Avro library, opens.

It is what `write_container` writes, with two differences that let a run be read without its neighbours. Its header
begins with the index, under two names of its own, and holds only the schemas that its events need.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import orjson

from tachograph.core.errors import CorruptPayload
from tachograph.schemas import DEFAULT_LIMITS, Container, read_container, write_container
from tachograph.stores._address import varint

MAGIC: Final = b"Obj\x01"
START_KEY: Final = b"tachograph.start"
"""The header's length, eight digits: the blocks begin there."""
INDEX_KEY: Final = b"tachograph.index"
PAGES_KEY: Final = b"tachograph.pages"
"""Behind the index: what only cuts and cones ask for. Segments of earlier releases have none."""

PAGES_BYTES_MAX: Final = 2 << 20
"""Deflated, as they stand in a header, which must not have more than 4 MiB with the index; where they are more they are left
out, and the segment's runs read whole. Those of a million events take a quarter."""

BLOCK_EVENTS: Final = 256
"""Enough to compress well together, few enough to be read without their neighbours."""
BLOCK_BYTES: Final = 1 << 20
"""A block ends once it holds this much."""

INDEX_BYTES_MAX: Final = 64 << 20
"""Of an index, decompressed: a million runs take as much."""

_START_DIGITS: Final = 8
_SYNC_BYTES: Final = 16
_LEVEL: Final = 1
"""Levels above save a sixth of the bytes for three times the time."""

_FRAME_SCHEMA: Final = orjson.dumps(
    {
        "type": "record",
        "name": "Frame",
        "namespace": "tachograph",
        "fields": [{"name": "schema_id", "type": "int"}, {"name": "payload", "type": "bytes"}],
    }
)


class Block(NamedTuple):
    """Events that are compressed together."""

    size: int
    """Bytes in the file, its marker included."""
    events: int
    crc: int
    """CRC-32 of the bytes in the file: deflate itself notices few changes."""


def long_bytes(number: int) -> bytes:
    """A number that is not negative, as Avro writes it."""
    rest = number << 1
    if rest < 128:
        return _ONE[rest]
    out = bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)


_ONE: Final = [bytes((number,)) for number in range(128)]


def blocks_of(payloads: Iterable[bytes], sync: bytes) -> Iterator[tuple[Block, bytes]]:
    """Events in blocks, each with its bytes in the file; the last block is empty, as the format of containers wants."""
    frames: list[bytes] = []
    events = size = 0
    for payload in payloads:
        frames += (_schema_of(payload[1:5]), long_bytes(len(payload)), payload)
        events += 1
        size += len(payload)
        if events == BLOCK_EVENTS or size >= BLOCK_BYTES:
            yield _block(frames, events, sync)
            frames, events, size = [], 0, 0
    if events:
        yield _block(frames, events, sync)
    yield _block([], 0, sync)


def _block(frames: Sequence[bytes], events: int, sync: bytes) -> tuple[Block, bytes]:
    deflater = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    deflated = deflater.compress(b"".join(frames)) + deflater.flush()
    data = b"".join((long_bytes(events), long_bytes(len(deflated)), deflated, sync))
    return Block(len(data), events, zlib.crc32(data)), data


@cache
def _schema_of(id_bytes: bytes) -> bytes:
    return long_bytes(int.from_bytes(id_bytes, "big"))


def payloads_of(data: bytes, blocks: Sequence[Block], name: str) -> Iterator[bytes]:
    """The events of blocks that lie behind each other.

    Raises:
        CorruptPayload: they are not what was written.
    """
    at = 0
    for block in blocks:
        try:
            yield from _events(data[at : at + block.size], block)
        except (ValueError, IndexError, zlib.error) as error:
            raise CorruptPayload(f"a block of {name}", at, f"it does not read as one: {error}") from error
        at += block.size


def _events(data: bytes, block: Block) -> list[bytes]:
    if zlib.crc32(data) != block.crc:
        raise ValueError("its checksum does not match its bytes")
    events, at = varint(data, 0)
    size, at = varint(data, at)
    if events != block.events or at + size + _SYNC_BYTES != len(data):
        raise ValueError("its size is not that of the index")
    inflated = _inflated(data[at : at + size], -zlib.MAX_WBITS, DEFAULT_LIMITS.block_bytes_max)
    payloads: list[bytes] = []
    at = 0
    for _ in range(events):
        _, at = varint(inflated, at)
        size, at = varint(inflated, at)
        payloads.append(inflated[at : at + size])
        at += size
    if at != len(inflated):
        raise ValueError("it holds more or less than its events")
    return payloads


def _inflated(data: bytes, window: int, limit: int) -> bytes:
    """Decompressed bytes; ValueError where they are more than allowed, or not whole."""
    inflater = zlib.decompressobj(window)
    inflated = inflater.decompress(data, limit)
    if not inflater.eof or inflater.unused_data:
        raise ValueError(f"its compressed bytes are not whole, or hold more than {limit}")
    return inflated


def sync_of(told: bytes) -> bytes:
    """The marker between blocks: equal segments are equal bytes, so it is no chance."""
    return hashlib.sha256(told).digest()[:_SYNC_BYTES]


def header_of(index: bytes, pages: bytes, manifest: Mapping[str, str], schema_ids: Iterable[int], sync: bytes) -> bytes:
    """What stands before the blocks; `index` is deflated here, `pages` are already."""
    schemas = _known_schemas()
    used = {str(schema_id): orjson.Fragment(schemas[schema_id]) for schema_id in sorted(schema_ids)}
    entries = {
        START_KEY: b"0" * _START_DIGITS,
        INDEX_KEY: zlib.compress(index),
        **({PAGES_KEY: pages} if len(pages) <= PAGES_BYTES_MAX else {}),
        b"avro.codec": b"deflate",
        b"avro.schema": _FRAME_SCHEMA,
        b"tachograph.schemas": orjson.dumps(used),
    }
    entries |= {f"tachograph.manifest.{name}".encode(): text.encode() for name, text in sorted(manifest.items())}
    size = len(_header(entries, sync))
    entries[START_KEY] = f"{size:0{_START_DIGITS}}".encode()
    return _header(entries, sync)


def _header(entries: Mapping[bytes, bytes], sync: bytes) -> bytes:
    parts = [MAGIC, long_bytes(len(entries))]
    for name, value in entries.items():
        parts += (long_bytes(len(name)), name, long_bytes(len(value)), value)
    return b"".join((*parts, b"\0", sync))


class Opening(NamedTuple):
    """What the first bytes of a segment tell."""

    start: int
    """Where its blocks begin."""
    index_at: int
    """Where its index begins."""
    index_size: int


def opening_of(data: bytes, name: str) -> Opening:
    """Read the first bytes of a segment; a hundred are enough.

    Raises:
        CorruptPayload: it is no segment.
    """
    try:
        at = _expect(data, 0, MAGIC)
        _, at = varint(data, at)
        start, at = _value(data, at, START_KEY)
        at = _name(data, at, INDEX_KEY)
        size, at = varint(data, at)
        if not 0 <= size <= DEFAULT_LIMITS.header_bytes_max:
            raise ValueError(f"its index has {size} bytes, more than the {DEFAULT_LIMITS.header_bytes_max} allowed")
        return Opening(int(start), at, size)
    except (ValueError, IndexError) as error:
        raise CorruptPayload(f"the segment {name}", 0, f"it does not begin as one: {error}") from error


def pages_span(data: bytes, opening: Opening) -> tuple[int, int] | None:
    """Where a segment's pages are, as (offset, size); None where it has none.

    Args:
        data: the segment's first bytes, up to 40 behind its index.
        opening: what they tell.
    """
    try:
        size, at = varint(data, _name(data, opening.index_at + opening.index_size, PAGES_KEY))
    except (ValueError, IndexError):
        return None
    return (at, size) if 0 <= size <= PAGES_BYTES_MAX else None


def inflated_index(data: bytes, name: str) -> bytes:
    """The index, as it was given to `header_of`.

    Raises:
        CorruptPayload: it is none.
    """
    try:
        return _inflated(data, zlib.MAX_WBITS, INDEX_BYTES_MAX)
    except (zlib.error, ValueError) as error:
        raise CorruptPayload(f"the index of {name}", 0, f"it cannot be decompressed: {error}") from error


def _value(data: bytes, at: int, key: bytes) -> tuple[bytes, int]:
    at = _name(data, at, key)
    size, at = varint(data, at)
    return data[at : at + size], at + size


def _name(data: bytes, at: int, key: bytes) -> int:
    size, at = varint(data, at)
    return _expect(data, at, key) if size == len(key) else _expect(b"", 0, key)


def _expect(data: bytes, at: int, wanted: bytes) -> int:
    if data[at : at + len(wanted)] != wanted:
        raise ValueError(f"{wanted!r} is not there")
    return at + len(wanted)


@cache
def _known_schemas() -> Mapping[int, str]:
    empty = io.BytesIO()
    write_container(empty, (), {})
    container: Container = read_container(io.BytesIO(empty.getvalue()))
    return container.schemas
