"""Our schemas as a registry keeps them: Avro as it is, and our own id in it.

The id stands in the schema as an attribute, which Avro lets pass. So a reader finds out what a registry's id means by
asking for its schema, newer versions than its own included.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, cast

import orjson
from fastavro.schema import SchemaParseException, UnknownType, to_parsing_canonical_form

from tachograph.schemas import GAP_MAX, SchemaEntry, entries, schema_of
from tachograph.stores.registry._errors import UnknownSchemaId

ATTRIBUTE: Final = "tachograph-id"


_DEFAULTS: Final[Mapping[str, Mapping[str, int]]] = {"CallFinished/2": {"gap": GAP_MAX}}
"""What a schema that never changes any more should have said to be FULL_TRANSITIVE: as our own upcaster has it."""


def text_of(entry: SchemaEntry) -> str:
    """A schema of ours, as it is registered."""
    schema = cast("dict[str, object]", schema_of(entry))
    defaults = _DEFAULTS.get(entry.tag, {})
    fields = [_with_default(field, defaults) for field in cast("list[dict[str, object]]", schema["fields"])]
    return orjson.dumps({**schema, "fields": fields, ATTRIBUTE: entry.id}).decode()


def _with_default(field: dict[str, object], defaults: Mapping[str, int]) -> dict[str, object]:
    name = cast("str", field["name"])
    return {**field, "default": defaults[name]} if name in defaults else field


def subject_of(topic: str, entry: SchemaEntry) -> str:
    """Confluent's TopicRecordName."""
    return f"{topic}-{cast('dict[str, str]', schema_of(entry))['namespace']}.{entry.type}"


def our_id(schema_id: int, text: str) -> int:
    """Our id of a registry's schema.

    Raises:
        UnknownSchemaId: it is none of ours.
    """
    try:
        schema = cast("dict[str, object]", orjson.loads(text))
        ours = schema[ATTRIBUTE]
        form = to_parsing_canonical_form(schema)
    except (ValueError, KeyError, TypeError, SchemaParseException, UnknownType) as error:
        raise UnknownSchemaId(schema_id, f"the registry's schema is no event's ({type(error).__name__})") from error
    if not isinstance(ours, int):
        raise UnknownSchemaId(schema_id, f"the registry's schema says {ours!r} of itself")
    if ours in entries() and form != _canonical(ours):
        raise UnknownSchemaId(
            schema_id, f"the registry's schema says that it is {entries()[ours].tag}, and differs from it"
        )
    return ours


@cache
def _canonical(ours: int) -> str:
    return str(to_parsing_canonical_form(cast("dict[str, object]", schema_of(entries()[ours]))))
