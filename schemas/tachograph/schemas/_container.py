"""What a container of events is: frames of schema id and payload in an Avro object container file.

Frames of id 0 stand first: they are the objects that the events' bodies name, each as key and bytes.

The file's metadata holds the caller's manifest and every schema by its id, so that the file is readable for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from tachograph.schemas._registry import AvroSchema, entries, schema_of

MANIFEST_PREFIX = "tachograph.manifest."
"""Stands before the manifest's names in the file's metadata."""

SCHEMAS_KEY = "tachograph.schemas"
"""The metadata that holds the schemas: a JSON object from id to schema."""

SYNC_BYTES = 16

OBJECT_ID = 0
"""In place of a schema id: the frame is an object. No schema has this id."""

KEY_BYTES = 32
"""An object's key stands before its bytes."""

BLOCK_EVENTS = 256
"""Enough to compress well together, few enough to be read without their neighbours."""

BLOCK_BYTES = 1 << 20
"""A block ends once it holds this much."""

FRAME_SCHEMA: dict[str, object] = {
    "type": "record",
    "name": "Frame",
    "namespace": "tachograph",
    "fields": [{"name": "schema_id", "type": "int"}, {"name": "payload", "type": "bytes"}],
}


@dataclass(frozen=True, slots=True)
class Container:
    """An open container."""

    manifest: Mapping[str, str]
    """What the writer wanted to be known."""
    schemas: Mapping[int, str]
    """The writer's schemas as JSON, without documentation, by id."""
    payloads: Iterator[bytes]
    """The events in order, once; each block is read, checked and decompressed when its first event is asked for."""
    objects: Mapping[bytes, bytes]
    """What the events' bodies name, by key: complete as soon as the first event is there. Not checked against the keys,
    for which the digest key of the home is needed."""


@cache
def known_schemas() -> Mapping[int, str]:
    """Every schema of this release as JSON, without documentation."""
    return {schema_id: bare_json(schema_of(entry)) for schema_id, entry in entries().items()}


@cache
def known_schemas_json() -> str:
    """The same as one JSON object."""
    return "{" + ",".join(f'"{schema_id}":{text}' for schema_id, text in sorted(known_schemas().items())) + "}"


def bare_json(schema: AvroSchema) -> str:
    """A schema as JSON without what does not change the bytes written under it."""
    return json.dumps(_bare(schema), separators=(",", ":"), sort_keys=True)


def _bare(schema: object) -> object:
    if isinstance(schema, list):
        return [_bare(item) for item in cast("list[object]", schema)]
    if isinstance(schema, dict):
        parts = cast("dict[str, object]", schema)
        return {name: _bare(part) for name, part in parts.items() if name != "doc"}
    return schema
