"""Floors: the least that the same work can cost in this language with these libraries."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
from typing import Any, cast

import fastavro
import orjson

from bench._measure import Subject, fresh_directory, timed
from bench._payload import pairs

_PAIRS = pairs(256)

GROUP = 8
"""Effects that are on their way together, ours and the floor's alike."""

_NOW_US = 1_772_355_000_000_000
_META = [
    {"name": "hash", "type": "bytes"},
    {"name": "seq", "type": "long"},
    {"name": "hlc", "type": "long"},
    {"name": "agent_id", "type": "string"},
    {"name": "recorded_at_us", "type": "long"},
]


def _schema(name: str, *fields: tuple[str, str]) -> dict[str, object]:
    own = [{"name": field, "type": kind} for field, kind in fields]
    return cast("dict[str, object]", fastavro.parse_schema({"type": "record", "name": name, "fields": [*_META, *own]}))


_STARTED = _schema("Started", ("name", "string"), ("digest", "bytes"), ("arguments", "bytes"))
_FINISHED = _schema("Finished", ("call_id", "long"), ("outcome", "string"), ("result", "bytes"))


def durable_write() -> Subject:
    """write + fdatasync of what an effect must have on disk before it leaves, one by one."""
    return _durable(1)


def durable_writes() -> Subject:
    """The same in groups: one write and one fdatasync for as many as are on their way together."""
    return _durable(GROUP)


def _durable(together: int) -> Subject:
    file = os.open(fresh_directory() / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    blobs = [orjson.dumps(arguments) + bytes(400) for arguments, _ in _PAIRS]

    def work(count: int) -> None:
        for index in range(0, count, together):
            os.write(file, b"".join([blobs[number % 256] for number in range(index, index + together)]))
            os.fdatasync(file)

    return lambda count: timed(work, count)


def seed_loop() -> Subject:
    """A replay without anything around it, one call after another on an event loop.

    Two Avro records a call are decoded, the asked arguments' digest is compared with the recorded one, and the result is
    handed over in the loop's next turn. No checksums, no hash chain, no process of its own, no schedule, no verdict.
    """
    records = [
        (_started(number, *_PAIRS[number % 256]), _finished(number, *_PAIRS[number % 256])) for number in range(2048)
    ]

    async def replay(count: int) -> None:
        for index in range(count):
            started, finished = records[index % 2048]
            call = _decoded(started, _STARTED)
            asked = orjson.dumps(_PAIRS[index % 256][0], option=orjson.OPT_SORT_KEYS)
            if hashlib.sha256(asked).digest() != call["digest"]:
                raise AssertionError(index)
            answer = _decoded(finished, _FINISHED)
            await asyncio.sleep(0)
            orjson.loads(answer["result"])

    def work(count: int) -> None:
        asyncio.run(replay(count))

    return lambda count: timed(work, count)


def _started(number: int, arguments: dict[str, object], result: dict[str, object]) -> bytes:
    del result
    asked = orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
    fields = {"name": "tool", "digest": hashlib.sha256(asked).digest(), "arguments": asked}
    return _encoded(2 * number, _STARTED, fields)


def _finished(number: int, arguments: dict[str, object], result: dict[str, object]) -> bytes:
    del arguments
    came_back = orjson.dumps(result, option=orjson.OPT_SORT_KEYS)
    return _encoded(2 * number + 1, _FINISHED, {"call_id": 2 * number, "outcome": "OK", "result": came_back})


def _encoded(seq: int, schema: dict[str, object], fields: dict[str, object]) -> bytes:
    buffer = io.BytesIO()
    meta = {"hash": bytes(32), "seq": seq, "hlc": (_NOW_US // 1000 << 16) + seq, "agent_id": "worker"}
    fastavro.schemaless_writer(buffer, schema, {**meta, "recorded_at_us": _NOW_US + seq, **fields})
    return buffer.getvalue()


def _decoded(record: bytes, schema: dict[str, object]) -> dict[str, Any]:  # as fastavro gives them
    return cast("dict[str, Any]", fastavro.schemaless_reader(io.BytesIO(record), schema, None))
