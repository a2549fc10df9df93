"""Reads a container of events that may come from anybody.

fastavro believes the sizes and counts that a file states and decompresses without an end; here each is held against a
limit, and against the bytes that are there, before anything is made of it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Final, cast

from tachograph.schemas._container import (
    FRAME_SCHEMA,
    KEY_BYTES,
    MANIFEST_PREFIX,
    OBJECT_ID,
    SCHEMAS_KEY,
    SYNC_BYTES,
    Container,
    bare_json,
    known_schemas,
)
from tachograph.schemas._errors import CorruptPayload, LimitExceeded
from tachograph.schemas._limits import DEFAULT_LIMITS, Limits
from tachograph.schemas._registry import AvroSchema
from tachograph.schemas._wire import length_at, long_at

_MAGIC = b"Obj\x01"

_WHAT = "the container"

_VARINT_BYTES_MAX = 10

_TRAILING_BYTES_MAX = 3
"""Writers that cut a zlib stream into a deflate stream (fastavro, too) leave this much of its checksum behind."""

_ENTRY_BYTES = 200
"""What an object takes in memory beside its bytes: many empty ones are not free."""

_JSON_MARKS: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)
"""Strings, whole, and the brackets outside of them."""


def read_container(file: IO[bytes], limits: Limits = DEFAULT_LIMITS) -> Container:
    """Open a container: its header is read at once, its events as they are asked for.

    Raises:
        CorruptPayload: the file is no container of events, or damaged; raised by `payloads`, too.
        LimitExceeded: a part of it is larger than allowed; raised by `payloads`, too.
        OSError: of `file`.
    """
    source = _Source(file)
    metadata, sync = _header(source, limits)
    schemas = _schemas(source, metadata, limits)
    manifest = {
        name.removeprefix(MANIFEST_PREFIX): _text(source, value)
        for name, value in metadata.items()
        if name.startswith(MANIFEST_PREFIX)
    }
    deflated = _is_deflated(source, metadata)
    objects: dict[bytes, bytes] = {}
    frames = _frames(source, _Blocks(source, sync, deflated, limits), limits)
    return Container(manifest, schemas, _payloads(source, frames, schemas, _Objects(source, objects, limits)), objects)


class _Source:
    """A file that is read in exact pieces."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.at = 0

    def take(self, size: int) -> bytes:
        """The next bytes; the caller has held `size` against a limit."""
        data = self._file.read(size)
        self.at += len(data)
        if len(data) < size:
            raise self.corrupt("it ends too early")
        return data

    def ended(self) -> bool:
        """Whether nothing is left; only the first byte that is left is read, and lost."""
        return not self._file.read(1)

    def length(self, what: str, limit: int) -> int:
        """The next number."""
        number = self.long()
        if number < 0:
            raise self.corrupt(f"{what} is negative")
        if number > limit:
            raise LimitExceeded(what, number, limit)
        return number

    def long(self) -> int:
        """The next number, which may be negative."""
        data = self.take(1)
        while data[-1] > 127 and len(data) < _VARINT_BYTES_MAX:
            data += self.take(1)
        return long_at(data, 0)[0]

    def corrupt(self, reason: str) -> CorruptPayload:
        return CorruptPayload(_WHAT, self.at, reason)


def _header(source: _Source, limits: Limits) -> tuple[Mapping[str, bytes], bytes]:
    """The file's metadata and its sync marker."""
    if source.take(len(_MAGIC)) != _MAGIC:
        raise source.corrupt("it does not start as an Avro object container file")
    metadata: dict[str, bytes] = {}
    while count := source.long():
        if count < 0:
            source.long()
        for _ in range(abs(count)):
            name = _text(source, _header_part(source, limits))
            metadata[name] = _header_part(source, limits)
    return metadata, source.take(SYNC_BYTES)


def _header_part(source: _Source, limits: Limits) -> bytes:
    size = source.length("the size of a part of the header in bytes", limits.header_bytes_max)
    if source.at + size > limits.header_bytes_max:
        raise LimitExceeded("the size of the header in bytes", source.at + size, limits.header_bytes_max)
    return source.take(size)


def _schemas(source: _Source, metadata: Mapping[str, bytes], limits: Limits) -> Mapping[int, str]:
    """The writer's schemas, which do not contradict those of this release."""
    if bare_json(_json(source, metadata, "avro.schema", limits)) != bare_json(cast("AvroSchema", FRAME_SCHEMA)):
        raise source.corrupt("it does not hold frames of events")
    stated = _json(source, metadata, SCHEMAS_KEY, limits)
    if not isinstance(stated, dict) or not all(name.isascii() and name.isdecimal() for name in stated):
        raise source.corrupt("its schemas are not a JSON object by id")
    schemas = {int(name): bare_json(schema) for name, schema in stated.items() if len(name) <= _VARINT_BYTES_MAX}
    for schema_id, text in known_schemas().items():
        if schemas.get(schema_id, text) != text:
            raise source.corrupt(f"its schema {schema_id} is not the one that is known under this id")
    return schemas


def _json(source: _Source, metadata: Mapping[str, bytes], name: str, limits: Limits) -> AvroSchema:
    text = _text(source, metadata.get(name, b""))
    depth = deepest = 0
    for mark in _JSON_MARKS.finditer(text):
        depth += (mark[0] in "[{") - (mark[0] in "]}")
        deepest = max(deepest, depth)
    if deepest > limits.depth_max:
        raise LimitExceeded(f"the depth of {name!r}", deepest, limits.depth_max)
    try:
        return cast("AvroSchema", json.loads(text))
    except ValueError as error:
        raise source.corrupt(f"its {name!r} is no JSON: {error}") from error


def _text(source: _Source, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise source.corrupt("a text in its header is not UTF-8") from error


def _is_deflated(source: _Source, metadata: Mapping[str, bytes]) -> bool:
    codec = metadata.get("avro.codec", b"null")
    if codec not in {b"deflate", b"null"}:
        raise source.corrupt(f"its compression {codec[:32]!r} is neither 'deflate' nor 'null'")
    return codec == b"deflate"


class _Blocks:
    """The blocks of a container, decompressed."""

    def __init__(self, source: _Source, sync: bytes, deflated: bool, limits: Limits) -> None:
        self._source = source
        self._sync = sync
        self._deflated = deflated
        self._limits = limits
        self._total = 0

    def next(self) -> tuple[int, bytes]:
        """How many frames the next block holds, and its bytes."""
        source = self._source
        count = source.length("the number of events in a block", self._limits.items_max)
        size = source.length("the size of a block in bytes", self._limits.block_bytes_max)
        data = source.take(size)
        if source.take(SYNC_BYTES) != self._sync:
            raise source.corrupt("a block does not end with the file's marker")
        return count, self._inflated(data) if self._deflated else self._counted(data)

    def _inflated(self, data: bytes) -> bytes:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        limit = self._limits.block_bytes_max
        try:
            block = inflater.decompress(data, limit + 1)
        except zlib.error as error:
            raise self._source.corrupt(f"a block cannot be decompressed: {error}") from error
        if len(block) > limit:
            raise LimitExceeded("the size of a decompressed block in bytes, at least", len(block), limit)
        if not inflater.eof or len(inflater.unused_data) > _TRAILING_BYTES_MAX:
            raise self._source.corrupt("a block's compressed bytes end too early or go on too long")
        return self._counted(block)

    def _counted(self, block: bytes) -> bytes:
        self._total += len(block)
        if self._total > self._limits.decompressed_bytes_max:
            limit = self._limits.decompressed_bytes_max
            raise LimitExceeded("the size of a decompressed container in bytes, at least", self._total, limit)
        return block


class _Objects:
    """Takes in the objects of a container."""

    def __init__(self, source: _Source, taken: dict[bytes, bytes], limits: Limits) -> None:
        self._source = source
        self._taken = taken
        self._limits = limits
        self._total = 0

    def take(self, frame: bytes) -> None:
        """One object: its key, then its bytes."""
        if len(frame) < KEY_BYTES:
            raise self._source.corrupt("an object is shorter than its key")
        self._total += len(frame) + _ENTRY_BYTES
        if self._total > self._limits.objects_bytes_max:
            limit = self._limits.objects_bytes_max
            raise LimitExceeded("the size of all objects in bytes, at least", self._total, limit)
        self._taken[frame[:KEY_BYTES]] = frame[KEY_BYTES:]


def _payloads(
    source: _Source, frames: Iterator[tuple[int, bytes]], schemas: Mapping[int, str], objects: _Objects
) -> Iterator[bytes]:
    begun = False
    for schema_id, payload in frames:
        if schema_id == OBJECT_ID:
            if begun:
                raise source.corrupt("an object stands behind an event")
            objects.take(payload)
            continue
        begun = True
        if payload[:5] != b"\x00" + schema_id.to_bytes(8, "big")[4:] or schema_id >> 32:
            raise source.corrupt("an event's schema id is not its frame's")
        if schema_id not in schemas:
            raise source.corrupt("an event's schema is not among the container's")
        yield payload


def _frames(source: _Source, blocks: _Blocks, limits: Limits) -> Iterator[tuple[int, bytes]]:
    while True:
        count, block = blocks.next()
        if not count:
            break
        at = 0
        for _ in range(count):
            schema_id, payload, at = _frame(source, block, at, limits)
            yield schema_id, payload
        if at != len(block):
            raise source.corrupt("a block holds more than its events")
    if block or not source.ended():
        raise source.corrupt("bytes follow its last block")


def _frame(source: _Source, block: bytes, at: int, limits: Limits) -> tuple[int, bytes, int]:
    try:
        schema_id, at = length_at(block, at)
        size, at = length_at(block, at)
    except IndexError as error:
        raise source.corrupt("a block ends within an event") from error
    if size > limits.payload_bytes_max:
        raise LimitExceeded("the size of an event in bytes", size, limits.payload_bytes_max)
    payload = block[at : at + size]
    if len(payload) < size:
        raise source.corrupt("a block ends within an event")
    return schema_id, payload, at + size
