"""Reads and writes records with fastavro: what the compiled codec is measured and checked against."""

from __future__ import annotations

import io
from functools import cache
from typing import cast

from fastavro import parse_schema, schemaless_reader, schemaless_writer

from tachograph.schemas._registry import SchemaEntry, schema_of


def write_reference(entry: SchemaEntry, fields: dict[str, object]) -> bytes:
    """The Avro bytes of these fields."""
    file = io.BytesIO()
    schemaless_writer(file, _parsed(entry), fields, strict=True)
    return file.getvalue()


def read_reference(entry: SchemaEntry, record: bytes) -> dict[str, object]:
    """The fields in these Avro bytes; details are pairs of branch name and fields."""
    read = schemaless_reader(
        io.BytesIO(record), _parsed(entry), None, return_record_name=True, return_record_name_override=True
    )
    return cast("dict[str, object]", read)


@cache
def _parsed(entry: SchemaEntry) -> dict[str, object]:
    return cast("dict[str, object]", parse_schema(schema_of(entry)))
