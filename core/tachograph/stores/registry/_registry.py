"""Our schema ids and a registry's: registered once, kept on disk, exchanged in a record's first five bytes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tachograph.schemas import OPTIONAL_ID_MIN, SchemaEntry, entries
from tachograph.stores.backend import RegistrySettings
from tachograph.stores.registry._cache import IdCache, Pair
from tachograph.stores.registry._confluent import ConfluentRegistry
from tachograph.stores.registry._errors import RegistryReplaced, RegistryUnavailable, UnknownSchemaId
from tachograph.stores.registry._schemas import our_id, subject_of, text_of
from tachograph.stores.registry._side_by_side import side_by_side
from tachograph.stores.registry._sources import monotonic_s

_LOG: Final = logging.getLogger("tachograph.registry")

PREFIX_BYTES: Final = 5
"""A zero and the schema id, 4 bytes, big-endian: Confluent's wire format, and ours."""

CONNECTIONS: Final = 8
"""Schemas registered at the same time."""

ASK_AGAIN_SECONDS: Final = 30.0
"""An id that the registry did not know is asked for no oftener: a flood of foreign records must not become its flood."""


class SchemaRegistry:
    """Exchanges schema ids in records. Safe for several threads.

    Args:
        settings: of the registry; None: there is none, records carry our own ids.
        cache: file that keeps the ids.
        topic: the topic whose records these are; schemas are registered under TopicRecordName subjects.
    """

    def __init__(self, settings: RegistrySettings | None, cache: Path, *, topic: str) -> None:
        self._topic = topic
        self._client = None if settings is None else ConfluentRegistry(settings)
        self._cache = None if settings is None else IdCache(cache, settings.url, topic)
        self._to_theirs: dict[bytes, bytes] = {}
        self._to_ours: dict[bytes, bytes] = {}
        self._refused: dict[bytes, _Refused] = {}
        known = [(each, each) for each in entries()] if self._cache is None else self._cache.load()
        for ours, theirs in known:
            self._learn(ours, theirs)

    def register_all(self) -> None:
        """Register every schema, past versions first; a registry that does not answer is no matter once all are known.

        Raises:
            RegistryUnavailable: it does not answer, and some ids are not known yet.
            IncompatibleSchema: it refuses a schema.
            RegistryReplaced: it gives other ids than before.
            StoreUnavailable: the ids cannot be kept.
        """
        if self._client is None or self._cache is None:
            return
        ordered = sorted(entries().values(), key=lambda entry: (entry.type, entry.version))
        try:
            self._register(self._client, self._cache, ordered)
        except RegistryUnavailable as error:
            if any(_prefix(entry.id) not in self._to_theirs for entry in ordered):
                raise
            _LOG.warning("tachograph: %s Known schemas are written and read without it.", error)

    def to_wire(self, payload: bytes) -> bytes:
        """An event's payload as the value of a record.

        Raises:
            UnknownSchemaId: the registry has no id for its schema: `register_all` was not called, or does not know it.
        """
        theirs = self._to_theirs.get(payload[:PREFIX_BYTES])
        if self._client is None and theirs is not None:
            return payload
        if theirs is None:
            raise UnknownSchemaId(_id(payload), "this release has not registered it")
        return theirs + payload[PREFIX_BYTES:]

    def from_wire(self, value: bytes) -> bytes:
        """The value of a record as an event's payload; only its first five bytes are looked at.

        Raises:
            UnknownSchemaId: nobody can tell what its id means; the registry may not answer.
        """
        ours = self._to_ours.get(value[:PREFIX_BYTES])
        return (self._ask(value[:PREFIX_BYTES]) if ours is None else ours) + value[PREFIX_BYTES:]

    def close(self) -> None:
        """Let go of the registry's connections."""
        if self._client is not None:
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _register(self, client: ConfluentRegistry, cache: IdCache, ordered: Sequence[SchemaEntry]) -> None:
        by_type: dict[str, list[SchemaEntry]] = {}
        for entry in ordered:
            by_type.setdefault(entry.type, []).append(entry)
        learned: list[Pair] = []
        try:
            for entry, theirs in self._all_registered(client, list(by_type.values())):
                self._check(client, cache, entry, theirs)
                self._learn(entry.id, theirs)
                learned.append((entry.id, theirs))
        finally:
            cache.add(learned)

    def _all_registered(
        self, client: ConfluentRegistry, groups: Sequence[Sequence[SchemaEntry]]
    ) -> Iterator[tuple[SchemaEntry, int]]:
        """Several subjects at a time: a registry without any of them answers each call slowly, and an end waits for them."""

        def register(group: Sequence[SchemaEntry]) -> list[tuple[SchemaEntry, int]]:
            return [(entry, self._registered(client, entry)) for entry in group]

        for found in side_by_side(register, groups, CONNECTIONS):
            yield from found

    def _registered(self, client: ConfluentRegistry, entry: SchemaEntry) -> int:
        subject = subject_of(self._topic, entry)
        if _prefix(entry.id) not in self._to_theirs:
            client.hold_compatible(subject)
        return client.register(subject, entry.tag, text_of(entry))

    def _check(self, client: ConfluentRegistry, cache: IdCache, entry: SchemaEntry, theirs: int) -> None:
        before = self._to_theirs.get(_prefix(entry.id))
        if before is not None and before != _prefix(theirs):
            raise RegistryReplaced(client.url, entry.tag, int.from_bytes(before[1:]), theirs, str(cache.path))

    def _learn(self, ours: int, theirs: int) -> None:
        self._to_theirs.setdefault(_prefix(ours), _prefix(theirs))
        self._to_ours[_prefix(theirs)] = _prefix(ours)

    def _ask(self, prefix: bytes) -> bytes:
        """Our prefix for one of the registry's that is met for the first time."""
        schema_id = _id(prefix)
        if schema_id is None:
            raise UnknownSchemaId(None, f"the record starts with {prefix!r}, which is not the registry's wire format")
        if self._client is None or self._cache is None:
            if schema_id >= OPTIONAL_ID_MIN:  # a newer release's; whoever decodes it may skip it
                return prefix
            raise UnknownSchemaId(schema_id, "this release has no such schema")
        refused = self._refused.get(prefix)
        if refused is not None and monotonic_s() - refused.at_s < ASK_AGAIN_SECONDS:
            raise UnknownSchemaId(schema_id, refused.reason)
        try:
            ours = _asked(self._client, schema_id)
        except UnknownSchemaId as error:
            self._refused[prefix] = _Refused(monotonic_s(), error.reason)
            raise
        self._learn(ours, schema_id)
        self._cache.add([(ours, schema_id)])
        return _prefix(ours)


@dataclass(frozen=True, slots=True)
class _Refused:
    """An id that nobody could explain."""

    at_s: float
    reason: str


def _asked(client: ConfluentRegistry, schema_id: int) -> int:
    try:
        text = client.schema(schema_id)
    except RegistryUnavailable as error:
        raise UnknownSchemaId(schema_id, f"the registry could not be asked: {error}") from error
    if text is None:
        raise UnknownSchemaId(schema_id, f"the registry {client.url} has no such schema")
    return our_id(schema_id, text)


def _prefix(schema_id: int) -> bytes:
    return b"\0" + schema_id.to_bytes(PREFIX_BYTES - 1, "big")


def _id(prefix: bytes) -> int | None:
    if len(prefix) < PREFIX_BYTES or prefix[0]:
        return None
    return int.from_bytes(prefix[1:PREFIX_BYTES], "big")
