"""Somebody who has nothing of ours reads the topic of events: a Kafka client, Avro, and the registry over plain HTTP."""

from __future__ import annotations

import io
import json
import urllib.request
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import cast

import avro.io
import avro.schema
import fastavro
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

import schemas_support
from pipeline import Pipeline, drained, read_ledger, work
from services import fresh_backend
from shipping import backend_at, events_topic, kafka_of
from tachograph.producers.shipper import ship
from tachograph.schemas import fields_of
from tachograph.schemas._registry import SchemaEntry, schema_of
from tachograph.stores import Home, SpoolWriter

Fields = dict[str, object]


def records(bootstrap: str, topic: str) -> Iterator[tuple[bytes, dict[str, bytes], bytes]]:
    """Key, headers and value of every record, partition by partition."""
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": "clean-room", "enable.auto.commit": False})
    try:
        for number in client.list_topics(topic, timeout=30).topics[topic].partitions:
            place = TopicPartition(topic, number, OFFSET_BEGINNING)
            left = client.get_watermark_offsets(place, timeout=30)[1]
            client.assign([place])
            while left:
                message = client.poll(30)
                assert message is not None
                assert message.error() is None, message.error()
                headers = cast("list[tuple[str, bytes]]", message.headers() or [])
                yield cast("bytes", message.key()), dict(headers), cast("bytes", message.value())
                left -= 1
    finally:
        client.close()


class CleanRoom:
    """Reads values in Confluent's wire format."""

    def __init__(self, registry_url: str) -> None:
        self._url = registry_url
        self.reader = cache(self._reader)

    def read(self, value: bytes) -> tuple[str, Fields]:
        """A value's type and fields."""
        assert value[0] == 0
        reader, name = self.reader(int.from_bytes(value[1:5], "big"))
        stream = io.BytesIO(value[5:])
        fields = cast("Fields", reader.read(avro.io.BinaryDecoder(stream)))
        assert stream.read() == b"", "bytes are left over"
        return name, fields

    def _reader(self, schema_id: int) -> tuple[avro.io.DatumReader, str]:
        with urllib.request.urlopen(f"{self._url}/schemas/ids/{schema_id}", timeout=30) as answer:
            text = json.load(answer)["schema"]
        return avro.io.DatumReader(avro.schema.parse(text)), str(json.loads(text)["name"])


def test_whoever_has_nothing_of_ours_reads_every_record(tmp_path: Path) -> None:
    """And finds what a recorder noted: every event once, its place, its tenant, its hash, the names of what was called."""
    pipeline = Pipeline(fresh_backend(tmp_path, "kafka", "registry", "s3"), tmp_path)
    with pipeline.recorder() as recorder:
        for number in range(3):
            work(recorder, f"run {number}", large=20_000)
        assert drained(recorder)
    assert pipeline.backend.registry is not None
    room = CleanRoom(pipeline.backend.registry.url)
    found: list[tuple[object, ...]] = []
    kinds: set[str] = set()
    tools: set[object] = set()
    for key, headers, value in records(pipeline.kafka.bootstrap, pipeline.events):
        kind, fields = room.read(value)
        meta = cast("Fields", fields["meta"])
        assert key.decode() == meta["run_id"]
        assert headers == {
            "tacho-tenant": str(meta["tenant"]).encode(),
            "tacho-hash": cast("bytes", meta["hash"]).hex().encode(),
        }
        kinds.add(kind)
        tools.add(fields.get("name"))
        found.append((meta["run_id"], meta["agent_id"], meta["incarnation"], meta["seq"]))
    assert sorted(map(str, found)) == sorted(str(tuple(event_id)) for event_id in read_ledger(pipeline.ledger))
    assert {"RunStarted", "AgentStarted", "CallStarted", "CallFinished", "EffectTransitioned", "RunFinished"} <= kinds
    assert {"len", "send_mail"} <= tools


def test_whoever_has_nothing_of_ours_reads_every_kind_of_event(tmp_path: Path) -> None:
    """In every version that was ever written, as an orphaned spool holds them: each says which it is and what it carries."""
    backend, home = backend_at(tmp_path, "kafka", "registry", "s3"), Home.open(tmp_path / "home", create=True)
    assert backend.registry is not None
    chunk = b"what is too large for an event"
    home.objects.put(sha256(chunk).digest(), chunk)
    written = list(_every_kind(sha256(chunk).digest()))
    writer = SpoolWriter(home.path / "log")
    writer.append([entry.prefix + record for entry, record in written])
    writer.close()
    assert ship(home.path, backend, lambda *_: None).events == len(written)
    room = CleanRoom(backend.registry.url)
    found: dict[object, tuple[str, Fields]] = {}
    for _, _, value in records(kafka_of(backend).bootstrap, events_topic(backend)):
        kind, fields = room.read(value)
        found[cast("Fields", fields["meta"])["seq"]] = kind, fields
    assert sorted(map(str, found)) == sorted(str(number) for number in range(1, len(written) + 1))
    for number, (entry, record) in enumerate(written, 1):
        assert found[number] == (entry.type, fastavro.schemaless_reader(io.BytesIO(record), schema_of(entry), None))
    assert {kind for kind, _ in found.values()} == {entry.type for entry in schemas_support.CURRENT}


def _every_kind(chunk: bytes) -> Iterator[tuple[SchemaEntry, bytes]]:
    """One event of each kind and version, as fastavro writes it: numbered from 1 as one stream's; all chunks are this one."""
    current = [
        (entry, fields_of(event))
        for event in schemas_support.EXAMPLES
        for entry in schemas_support.CURRENT
        if entry.type == type(event).__name__
    ]
    for number, (entry, fields) in enumerate([*current, *schemas_support.past_examples()], 1):
        meta: Fields = {**cast("Fields", fields["meta"]), "seq": number, "causes": ()}
        whole: Fields = {**fields, "meta": meta}
        yield entry, schemas_support.reference_write(entry, cast("Fields", _with_chunk(whole, chunk)))


def _with_chunk(value: object, chunk: bytes) -> object:
    """The same with every list of chunks a list of this one."""
    if isinstance(value, dict):
        fields = cast("Fields", value)
        return {
            name: [chunk] if name == "chunks" and isinstance(one, tuple | list) and one else _with_chunk(one, chunk)
            for name, one in fields.items()
        }
    if isinstance(value, tuple):
        return tuple(_with_chunk(one, chunk) for one in cast("tuple[object, ...]", value))
    return value
