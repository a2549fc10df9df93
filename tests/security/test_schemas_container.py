"""A container from anybody is read whole, or refused: never in part without a word, never beyond its limits."""

from __future__ import annotations

import io
import tracemalloc
import zlib

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas_support import EXAMPLES, payload_of
from tachograph.schemas import (
    DEFAULT_LIMITS,
    CorruptPayload,
    EvidenceBroken,
    LimitExceeded,
    Limits,
    read_container,
    write_container,
)
from tachograph.schemas._container import FRAME_SCHEMA

PAYLOADS = [payload_of(event) for event in EXAMPLES]


def written(payloads: list[bytes], **manifest: str) -> bytes:
    """A container's bytes."""
    file = io.BytesIO()
    write_container(file, payloads, manifest)
    return file.getvalue()


def read(data: bytes, limits: Limits = DEFAULT_LIMITS) -> list[bytes]:
    """Its events."""
    return list(read_container(io.BytesIO(data), limits).payloads)


FILE = written(PAYLOADS, run="R")
HEADER_BYTES = len(written([])) - 18 - 3


def foreign(metadata: dict[str, str], codec: str = "null") -> bytes:
    """A container as another program might write it."""
    file = io.BytesIO()
    fastavro.writer(file, FRAME_SCHEMA, [{"schema_id": 1, "payload": PAYLOADS[0]}], codec=codec, metadata=metadata)
    return file.getvalue()


def test_a_container_cut_anywhere_is_noticed() -> None:
    """Even one that was cut between two blocks."""
    for end in (*range(0, HEADER_BYTES, 97), *range(HEADER_BYTES, len(FILE))):
        with pytest.raises(CorruptPayload):
            read(FILE[:end])
    with pytest.raises(CorruptPayload, match="bytes follow"):
        read(FILE + b"\x00")


@given(st.integers(0, len(FILE) - 1), st.integers(1, 255))
@settings(max_examples=300, print_blob=True, deadline=None)
def test_a_changed_byte_is_refused_or_harmless(at: int, change: int) -> None:
    """A damaged container is refused, or its damage lies where no event is."""
    damaged = bytearray(FILE)
    damaged[at] ^= change
    try:
        events = read(bytes(damaged))
    except EvidenceBroken:
        return
    assert len(events) == len(PAYLOADS)


@given(st.binary(max_size=200))
@settings(max_examples=300, print_blob=True, deadline=None)
def test_noise_is_refused(data: bytes) -> None:
    """Noise, with or without the first bytes of a container, is none."""
    for noise in (data, b"Obj\x01" + data):
        with pytest.raises(EvidenceBroken):
            read(noise)


def with_block(count: bytes, data: bytes) -> bytes:
    """The header of an empty container, then one block."""
    empty = written([])
    sync = empty[-16:]
    head = empty[: empty.index(sync) + 16]
    return head + count + long(len(data)) + data + sync


def long(number: int) -> bytes:
    """A number's bytes in Avro."""
    out = bytearray()
    number <<= 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_a_small_block_cannot_become_a_large_one() -> None:
    """Decompression stops at the limit: a gigabyte of zeros in a megabyte takes no gigabyte."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(256)) + packer.flush()
    limits = Limits(block_bytes_max=1 << 20)
    tracemalloc.start()
    with pytest.raises(LimitExceeded, match="decompressed block"):
        read(with_block(b"\x02", bomb), limits)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_all_blocks_together_have_a_limit() -> None:
    """Many blocks of an allowed size are refused once their sum is not."""
    with pytest.raises(LimitExceeded, match="decompressed container"):
        read(written(PAYLOADS * 40), Limits(decompressed_bytes_max=20_000))


def test_objects_have_a_limit() -> None:
    """They are held in memory, so empty ones count as well."""
    file = io.BytesIO()
    write_container(file, PAYLOADS, {}, ((bytes([number]) * 32, b"") for number in range(100)))
    with pytest.raises(LimitExceeded, match="all objects"):
        read(file.getvalue(), Limits(objects_bytes_max=20_000))


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([(0, b"short")], "shorter than its key"),
        ([(1, PAYLOADS[0]), (0, bytes(40))], "behind an event"),
        ([(2, PAYLOADS[0])], "not its frame's"),
    ],
)
def test_frames_that_are_out_of_place_are_refused(frames: list[tuple[int, bytes]], reason: str) -> None:
    """Objects come first and are whole; a frame states its event's schema."""
    data = b"".join(long(number) + long(len(payload)) + payload for number, payload in frames)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    with pytest.raises(CorruptPayload, match=reason):
        read(with_block(long(len(frames)), packer.compress(data) + packer.flush()))


def test_a_block_cannot_ask_for_many_events_or_bytes() -> None:
    """Counts and sizes are held against limits before anything is read."""
    many = long((1 << 31) - 1)
    with pytest.raises(LimitExceeded, match="number of events in a block"):
        read(with_block(many, b""))
    empty = written([])
    head = empty[: empty.index(empty[-16:]) + 16]
    with pytest.raises(LimitExceeded, match="size of a block"):
        read(head + b"\x02" + many)
    with pytest.raises(LimitExceeded, match="size of a part of the header"):
        read(b"Obj\x01\x02" + many)
    with pytest.raises(LimitExceeded, match="size of the header"):
        read(FILE, Limits(header_bytes_max=FILE.index(FILE[-16:]) - 60))


def test_a_deep_schema_is_not_parsed() -> None:
    """JSON that nests too deep is refused, also when it is cleverly unfinished."""
    for text in ("[" * 100_000, '{"a":' * 5_000, '"' + '\\"' * 50_000 + "[" * 70):
        with pytest.raises(EvidenceBroken):
            read(foreign({"tachograph.schemas": text}))
    with pytest.raises(LimitExceeded, match="depth"):
        read(foreign({"tachograph.schemas": "[" * 65}))


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({}, "no JSON"),
        ({"tachograph.schemas": "[]"}, "by id"),
        ({"tachograph.schemas": '{"x":"long"}'}, "by id"),
        ({"tachograph.schemas": "{}"}, "not among the container's"),
        ({"tachograph.schemas": '{"1":"long"}'}, "schema 1 is not the one"),
    ],
)
def test_schemas_that_do_not_fit_are_named(metadata: dict[str, str], reason: str) -> None:
    """A container must bring the schema of each event, and it must be the one that is known under its id."""
    with pytest.raises(CorruptPayload, match=reason):
        read(foreign(metadata))


def test_other_containers_are_refused() -> None:
    """Another record type, or a compression that has no limits here."""
    file = io.BytesIO()
    fastavro.writer(file, "long", [1, 2])
    with pytest.raises(CorruptPayload, match="frames of events"):
        read(file.getvalue())
    with pytest.raises(CorruptPayload, match="bzip2"):
        read(foreign({"tachograph.schemas": "{}"}, codec="bzip2"))
