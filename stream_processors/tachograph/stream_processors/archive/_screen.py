"""Looking at a record: an event to archive, or poison with its reason."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple

from tachograph.core.causality import check_id
from tachograph.core.errors import EvidenceBroken, InvalidIdentifier
from tachograph.core.integrity import Head, StreamKey
from tachograph.schemas import (
    CONTENT_OFFSET,
    DEFAULT_LIMITS,
    HASH,
    EventMeta,
    UnsupportedSchema,
    decode_meta,
    is_optional,
    schema_tag,
)
from tachograph.stores.archive import SegmentRecord
from tachograph.stores.kafka import Record
from tachograph.stores.registry import UnknownSchemaId
from tachograph.stream_processors._headers import HASH_HEADER, TENANT_HEADER

TENANT_CHARACTERS_MAX: Final = 200
"""Percent-encoded it must fit into an object's name, which has 1,024 bytes."""


class PoisonKind(StrEnum):
    """Why a record is not archived: few kinds, since they are a metric's label."""

    EMPTY = "empty"
    OVERSIZED = "oversized"
    SCHEMA = "schema"
    UNDECODABLE = "undecodable"
    KEY = "key"
    TENANT = "tenant"
    HASH = "hash"
    IDENTIFIER = "identifier"


class Poison(EvidenceBroken):
    """A record that is not archived.

    Args:
        kind: of reason.
        reason: a sentence.
    """

    def __init__(self, kind: PoisonKind, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"the record is not archived: {reason}")


class Screened(NamedTuple):
    """An event, as the auditor and the archive take it."""

    key: StreamKey
    head: Head
    record: SegmentRecord


class Screen:
    """Looks at records.

    Args:
        from_wire: exchanges the registry's schema id for ours.
    """

    def __init__(self, from_wire: Callable[[bytes], bytes]) -> None:
        self._from_wire = from_wire
        self._tenants: dict[str, bytes] = {}
        self._runs: dict[str, bytes] = {}

    def look(self, record: Record) -> Screened:
        """The event of a record; nothing behind its meta is decoded.

        Raises:
            Poison: it is none that could be archived.
        """
        value = record.value
        if not value:
            raise Poison(PoisonKind.EMPTY, "the record has no value")
        if len(value) > DEFAULT_LIMITS.payload_bytes_max:
            limit = DEFAULT_LIMITS.payload_bytes_max
            raise Poison(PoisonKind.OVERSIZED, f"the event has {len(value)} bytes, more than the {limit} allowed")
        payload, meta, tag = self._read(value)
        self._check(record, payload, meta)
        causes = tuple([cause.hash for cause in meta.causes]) if meta.causes else ()
        head = Head(meta.seq, payload[HASH], tag, payload[CONTENT_OFFSET:], causes, tag is not None and _ends(tag))
        key = StreamKey(meta.tenant, meta.run_id, meta.agent_id, meta.incarnation)
        event = SegmentRecord(
            meta.run_id, meta.hlc, meta.agent_id, meta.incarnation, meta.seq, record.offset, payload
        )  # fmt: skip
        return Screened(key, head, event)

    def _read(self, value: bytes) -> tuple[bytes, EventMeta, str | None]:
        try:
            payload = self._from_wire(value)
            return payload, decode_meta(payload), _tag(payload)
        except (UnknownSchemaId, UnsupportedSchema) as error:
            raise Poison(PoisonKind.SCHEMA, str(error)) from error
        except EvidenceBroken as error:
            raise Poison(PoisonKind.UNDECODABLE, str(error)) from error

    def _check(self, record: Record, payload: bytes, meta: EventMeta) -> None:
        if record.key != self._encoded(self._runs, "run id", meta.run_id):
            raise Poison(PoisonKind.KEY, f"the record's key is {record.key!r}, its event is of run {meta.run_id!r}")
        tenant = self._encoded(self._tenants, "tenant", meta.tenant)
        for name, told in record.headers:
            if name == TENANT_HEADER and told != tenant:
                raise Poison(PoisonKind.TENANT, f"the record says tenant {told!r}, its event {meta.tenant!r}")
            if name == HASH_HEADER and told.decode("ascii", "replace") != payload[HASH].hex():
                raise Poison(PoisonKind.HASH, f"the record says hash {told!r}, its event {payload[HASH].hex()}")

    def _encoded(self, known: dict[str, bytes], what: str, text: str) -> bytes:
        """An id's bytes; it is looked at when it is met for the first time."""
        found = known.get(text)
        if found is None:
            _check_text(what, text)
            if len(known) >= _KNOWN_MAX:
                known.clear()
            found = known[text] = text.encode()
        return found


_KNOWN_MAX: Final = 10_000


def _check_text(what: str, text: str) -> None:
    if what == "tenant":
        if not text or len(text) > TENANT_CHARACTERS_MAX:
            raise Poison(PoisonKind.TENANT, f"the tenant {text[:TENANT_CHARACTERS_MAX]!r} has {len(text)} characters")
        return
    try:
        check_id(what, text)
    except InvalidIdentifier as error:
        raise Poison(PoisonKind.IDENTIFIER, str(error)) from error


def _tag(payload: bytes) -> str | None:
    try:
        return schema_tag(payload)
    except UnsupportedSchema:
        if not is_optional(payload):
            raise
        return None


@cache
def _ends(tag: str) -> bool:
    return tag.startswith(("AgentFinished/", "RunFinished/"))
