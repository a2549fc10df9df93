"""A container holds events in order, with all that is needed to read them later."""

from __future__ import annotations

import io
import json

import fastavro
import pytest

from schemas_support import EXAMPLES, payload_of
from tachograph.schemas import UnsupportedSchema, decode, read_container, write_container

PAYLOADS = [payload_of(event) for event in EXAMPLES]


def written(payloads: list[bytes], manifest: dict[str, str], objects: dict[bytes, bytes] | None = None) -> bytes:
    """A container's bytes."""
    file = io.BytesIO()
    assert write_container(file, payloads, manifest, (objects or {}).items()) == len(payloads)
    return file.getvalue()


def test_events_come_back_in_order() -> None:
    """What went in comes out, over more than one block, and so does the manifest."""
    payloads = PAYLOADS * 40
    container = read_container(io.BytesIO(written(payloads, {"run": "R", "note": "ä"})))
    assert container.manifest == {"run": "R", "note": "ä"}
    assert list(container.payloads) == payloads


def test_an_empty_container_is_one() -> None:
    """No event is also a number of events."""
    container = read_container(io.BytesIO(written([], {})))
    assert list(container.payloads) == []
    assert container.manifest == {}


def test_bodies_travel_with_their_events() -> None:
    """What the bodies name is there as soon as the first event is."""
    objects = {bytes([number]) * 32: bytes([number]) * number * 100 for number in range(200)}
    container = read_container(io.BytesIO(written(PAYLOADS, {}, objects)))
    assert next(container.payloads) == PAYLOADS[0]
    assert container.objects == objects
    assert list(container.payloads) == PAYLOADS[1:]


def test_equal_events_make_equal_bytes() -> None:
    """Nothing in a container comes from chance, from the clock or from the order of the manifest."""
    one = written(PAYLOADS, {"a": "1", "b": "2"})
    assert one == written(PAYLOADS, {"b": "2", "a": "1"})
    assert one != written(PAYLOADS, {"a": "1", "b": "3"})


def test_any_avro_library_can_read_it() -> None:
    """Fastavro reads the frames, and with the schemas in the file the events."""
    file = io.BytesIO(written(PAYLOADS, {"run": "R"}))
    reader = fastavro.reader(file)
    schemas = json.loads(reader.metadata["tachograph.schemas"])
    for frame, event in zip(reader, EXAMPLES, strict=True):
        schema = fastavro.parse_schema(schemas[str(frame["schema_id"])])
        fields = fastavro.schemaless_reader(io.BytesIO(frame["payload"][5:]), schema, None)
        assert fields["meta"]["seq"] == event.meta.seq
        assert schema["name"] == f"tachograph.{type(event).__name__}"


def test_blocks_are_read_as_they_are_asked_for() -> None:
    """Opening a container reads its header only; a damaged last block does not hide the first."""
    data = written(PAYLOADS * 40, {})
    container = read_container(io.BytesIO(data[:-30]))
    assert decode(next(container.payloads)) == EXAMPLES[0]


def test_a_block_holds_a_bounded_number_of_events() -> None:
    """256 events, or fewer when they are large: so a part can be read without the rest."""
    blocks = fastavro.block_reader(io.BytesIO(written(PAYLOADS * 40, {})))
    assert [block.num_records for block in blocks] == [256, 256, 168, 0]


def test_what_cannot_be_read_is_not_written() -> None:
    """An event of an unknown schema does not get into a container."""
    with pytest.raises(UnsupportedSchema):
        write_container(io.BytesIO(), [b"\x00\x00\x00\xff\xff" + bytes(40)], {})
