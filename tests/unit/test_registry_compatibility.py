"""Every version of every schema, as it is registered, reads every other version of it: FULL_TRANSITIVE."""

from __future__ import annotations

import itertools

import avro.schema
import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

from tachograph.schemas import SchemaEntry, entries
from tachograph.stores.registry._schemas import our_id, text_of


def can_read(reader: str, writer: str) -> bool:
    """Whether Avro's schema resolution finds a value for everything."""
    checker = ReaderWriterCompatibilityChecker()
    found = checker.get_compatibility(avro.schema.parse(reader), avro.schema.parse(writer))
    return found.compatibility is SchemaCompatibilityType.compatible


PAIRS = [pair for pair in itertools.permutations(entries().values(), 2) if pair[0].type == pair[1].type]


@pytest.mark.parametrize(("reader", "writer"), PAIRS, ids=lambda entry: entry.tag)
def test_versions_of_a_schema_read_each_other(reader: SchemaEntry, writer: SchemaEntry) -> None:
    """Whichever of them is the older."""
    assert can_read(text_of(reader), text_of(writer))


def test_a_field_without_a_default_would_be_found() -> None:
    """The check can fail: this is the one that a registry refuses."""
    entry = next(iter(entries().values()))
    more = text_of(entry).replace('"fields":[', '"fields":[{"name":"novelty","type":"long"},', 1)
    assert not can_read(more, text_of(entry))


@pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.tag)
def test_a_registered_schema_tells_our_id(entry: SchemaEntry) -> None:
    """So a reader that never registered it knows what a registry's id means."""
    assert our_id(1, text_of(entry)) == entry.id
