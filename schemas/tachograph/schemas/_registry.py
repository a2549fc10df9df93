"""Which schemas there are, by id: read once, from the files beside this one, when first asked.

To change an event type: write what `schema_of` gives for it today to `avro/past/TYPE.VERSION.avsc`, change its `.avsc`
file and its class, give the new version the next id in `avro/ids.json` (the next from OPTIONAL_ID_MIN on where readers
may skip the type), say in `_upcast` what the old version means in the new one, and let
`tests/golden/events/write_new.py` write its golden file. The old id, schema and golden file stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias, cast

from tachograph.schemas._errors import UnsupportedSchema

AvroSchema: TypeAlias = "str | list[AvroSchema] | dict[str, AvroSchema]"
"""An Avro schema as JSON; numbers and null do not occur where this type is used for navigation."""

NAMESPACE = "tachograph"

OPTIONAL_ID_MIN = 1 << 16
"""Ids from here up belong to event types that a reader may skip, so that it can skip those newer than itself too."""

MAGIC = b"\x00"
"""First byte of a payload: the Confluent wire format."""


@dataclass(frozen=True, slots=True)
class SchemaEntry:
    """One version of one event type."""

    id: int
    """Assigned once, never reused."""
    type: str
    version: int
    optional: bool
    """Whether a reader that does not know it may go on without it."""

    @property
    def tag(self) -> str:
        """`CallStarted/1`."""
        return f"{self.type}/{self.version}"

    @property
    def prefix(self) -> bytes:
        """The five bytes before a record."""
        return MAGIC + self.id.to_bytes(4, "big")


@cache
def entries() -> Mapping[int, SchemaEntry]:
    """Every schema ever assigned, by id."""
    rows = cast("list[dict[str, object]]", json.loads(_text("ids.json")))
    made = [SchemaEntry(**row) for row in rows]  # type: ignore[arg-type]  # the file's test holds the types
    return {entry.id: entry for entry in made}


@cache
def current() -> Mapping[str, SchemaEntry]:
    """The newest schema of each event type."""
    newest: dict[str, SchemaEntry] = {}
    for entry in entries().values():
        if entry.type not in newest or newest[entry.type].version < entry.version:
            newest[entry.type] = entry
    return newest


def entry_of(schema_id: int) -> SchemaEntry:
    """The schema with this id.

    Raises:
        UnsupportedSchema: this release does not know it.
    """
    try:
        return entries()[schema_id]
    except KeyError:
        raise UnsupportedSchema(f"id {schema_id}", "unknown") from None


@cache
def schema_of(entry: SchemaEntry) -> AvroSchema:
    """The schema, self-contained: every named type is written out where it is first used."""
    if entry == current()[entry.type]:
        return _inlined(entry.type, set())
    return cast("AvroSchema", json.loads(_text(f"past/{entry.type}.{entry.version}.avsc")))


def _inlined(schema: AvroSchema, seen: set[str]) -> AvroSchema:
    if isinstance(schema, list):
        return [_inlined(branch, seen) for branch in schema]
    if isinstance(schema, dict):
        return {**schema, "items": _inlined(schema["items"], seen)}
    if schema in seen:
        return f"{NAMESPACE}.{schema}"
    if not schema[0].isupper():
        return schema
    seen.add(schema)
    return _with_fields(cast("dict[str, AvroSchema]", json.loads(_text(f"{schema}.avsc"))), seen)


def _with_fields(named: dict[str, AvroSchema], seen: set[str]) -> AvroSchema:
    if "fields" not in named:
        return named
    fields = cast("list[dict[str, AvroSchema]]", named["fields"])
    inlined: list[AvroSchema] = [{**field, "type": _inlined(field["type"], seen)} for field in fields]
    return {**named, "fields": inlined}


def _text(name: str) -> str:
    from importlib.resources import files  # dear, and most processes that import this one ask for no schema

    return files("tachograph.schemas").joinpath("avro", *name.split("/")).read_text("utf-8")
