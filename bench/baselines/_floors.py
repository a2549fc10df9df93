"""Floors: the least that the same work can cost in this language with these libraries."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from pathlib import Path

import fastavro
import orjson

from bench._measure import Subject, timed
from bench._payload import pairs

_PAIRS = pairs(256)
_SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Call",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": "string"},
            {"name": "arguments", "type": "bytes"},
            {"name": "result", "type": "bytes"},
        ],
    }
)


def durable_write() -> Subject:
    """write + fdatasync of what an effect must have on disk before it leaves, one by one."""
    file = os.open(Path(tempfile.mkdtemp(prefix="bench-floor-")) / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    blobs = [orjson.dumps(arguments) + bytes(400) for arguments, _ in _PAIRS]

    def work(count: int) -> None:
        for index in range(count):
            os.write(file, blobs[index % 256])
            os.fdatasync(file)

    return lambda count: timed(work, count)


def seed_loop() -> Subject:
    """Decode one Avro record a call and compare the arguments' bytes: a replay without anything around it."""
    records = [_encoded(index, *_PAIRS[index % 256]) for index in range(2048)]

    def work(count: int) -> None:
        for index in range(count):
            call = fastavro.schemaless_reader(io.BytesIO(records[index % 2048]), _SCHEMA, None)
            assert isinstance(call, dict)
            asked = orjson.dumps(_PAIRS[index % 256][0], option=orjson.OPT_SORT_KEYS)
            if asked != call["arguments"]:
                raise AssertionError(index)
            orjson.loads(call["result"])

    return lambda count: timed(work, count)


def hash_and_decode() -> Subject:
    """SHA-256 of the bytes and fastavro's decode of the record: what any verification must do."""
    records = [_encoded(index, *_PAIRS[index % 256]) for index in range(2048)]

    def work(count: int) -> None:
        for index in range(count):
            record = records[index % 2048]
            hashlib.sha256(record).digest()
            fastavro.schemaless_reader(io.BytesIO(record), _SCHEMA, None)

    return lambda count: timed(work, count)


def _encoded(number: int, arguments: dict[str, object], result: dict[str, object]) -> bytes:
    buffer = io.BytesIO()
    record = {
        "id": number,
        "name": "tool",
        "arguments": orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS),
        "result": orjson.dumps(result, option=orjson.OPT_SORT_KEYS),
    }
    fastavro.schemaless_writer(buffer, _SCHEMA, record)
    return buffer.getvalue()
