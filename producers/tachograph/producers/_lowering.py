"""Entries to bytes: redaction, digests, chunks, Avro, and the hash that chains an event to what it depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tachograph.core.canonical import INLINE_BYTES_MAX, Digester, make_body
from tachograph.core.causality import EventId, event_hash
from tachograph.core.sealing import ERROR_ARGUMENTS, RawPlace
from tachograph.producers._calls import Calls, named
from tachograph.producers._entry import CauseSource, Entry, ErrorDraft, Stream
from tachograph.producers._fields import details_fields, simplified, usage_fields
from tachograph.producers._state import NOTES
from tachograph.producers._texts import TEXT_FIELDS, Texts
from tachograph.schemas import Cause, HeadEncoder, SchemaMismatch, encode_rest, prefix_of, schema_tag

HASH_BYTES = 32
_UNHASHED = bytes(HASH_BYTES)

BODY_FIELDS: dict[str, tuple[str, ...]] = {
    "RunStarted": ("arguments", "inputs", "fork"),
    "RunFinished": ("result",),
    "AgentStarted": ("arguments", "inputs"),
    "AgentFinished": ("result",),
    "CallStarted": ("arguments",),
    "CallChunk": ("data",),
    "CallFinished": ("receipt", "result"),
    "MessageSent": ("body",),
    "MessageReceived": ("body",),
    "EffectTransitioned": ("receipt",),
    "StateChanged": ("value",),
    "Checkpointed": ("state",),
    "ArtifactWritten": ("body",),
    "RunImported": ("details",),
}
"""Fields that hold canonical JSON in an entry, and a Body in its event."""


KeepRaw = Callable[[RawPlace, bytes, bytes], None]
"""Takes the raw form of a body that redaction changed, and its redacted form."""


class Redaction(Protocol):
    """What the writer needs of a redaction policy."""

    def redact(self, data: bytes, tokens: Digester) -> tuple[bytes, bool]:
        """Canonical JSON in, canonical JSON out, and whether something was replaced."""
        ...

    def redact_text(self, text: str, tokens: Digester) -> str:
        """The same for a text."""
        ...


class Lowering:
    """Turns entries into payloads. Entries must come in the order of the queue."""

    def __init__(
        self,
        tenant: str,
        redaction: Redaction,
        digester: Digester,
        put_object: Callable[[bytes, bytes], None],
        keep_raw: KeepRaw | None = None,
    ) -> None:
        self._tenant = tenant
        self._redaction = redaction
        self._digester = digester
        self._put_object = put_object
        self._keep_raw = keep_raw
        self._texts = Texts(lambda text: redaction.redact_text(text, digester))
        self._calls = Calls(redaction.redact, digester, self._texts.clean)
        self._kinds: dict[str, _Kind] = {}

    def payload(self, entry: Entry) -> bytes:
        """The event's bytes; its stream's head moves to it.

        Raises:
            StoreUnavailable: a body's chunk could not be stored.
        """
        stream, seq, hlc, recorded_at_us, logical_time_us, event_type, fields, extra, trace, _ = entry
        kind = self._kinds.get(event_type) or self._learn(event_type)
        causes = () if extra is None else tuple(map(_known, extra.causes))
        encoder = stream.encoder or self._encoder(stream)
        head = encoder.encode(seq, hlc, causes, recorded_at_us, logical_time_us, trace)
        content = self._calls.content(event_type, fields, head) if isinstance(fields, tuple) else None
        if content is None:
            content = head + self._rest(kind, entry, named(event_type, fields))
        digest = event_hash(kind.tag, content, stream.head_hash, [cause.hash for cause in causes] if causes else ())
        stream.head_hash = digest
        stream.head_seq = seq
        stream.head_hlc = hlc
        if extra is not None and extra.sent is not None:
            extra.sent.hash = digest
        return b"".join((kind.prefix, digest, content))

    def _lower(self, kind: _Kind, entry: Entry, fields: dict[str, object]) -> None:
        """Bring every field into the form in which the codec takes it."""
        extra = entry[7]
        for name in kind.bodies:
            raw = fields[name]
            if raw is not None:
                fields[name] = self._body(raw, entry, name)  # type: ignore[arg-type]  # bytes, as an entry holds them
        for name in kind.texts:
            text = fields[name]
            if text is not None:
                fields[name] = self._texts.clean(text)  # type: ignore[arg-type]  # a text, or made one
        if kind.is_call:
            if fields["details"] is not None:
                fields["details"] = self._texts.clean_details(details_fields(fields["details"]))
            if kind.has_usage and fields["usage"] is not None:
                fields["usage"] = usage_fields(fields["usage"])
        if extra is not None and extra.error is not None:
            fields["error"] = self._error(extra.error, entry)

    def _encoder(self, stream: Stream) -> HeadEncoder:
        encoder = HeadEncoder(stream.agent_id, stream.incarnation, stream.run_id, self._tenant)
        stream.encoder = encoder
        return encoder

    def _rest(self, kind: _Kind, entry: Entry, fields: dict[str, object]) -> bytes:
        event_type = entry[5]
        self._lower(kind, entry, fields)
        if kind.note is not None:
            kind.note(entry[0], fields, entry[7])
        try:
            return encode_rest(event_type, fields)
        except SchemaMismatch:  # a name that is no text, a number beyond 64 bits: rather a poorer event than none
            return encode_rest(event_type, simplified(fields))

    def _body(self, raw: bytes, entry: Entry, name: str) -> dict[str, object]:
        data, redacted = self._redacted(raw)
        chunks: Sequence[bytes] = ()
        if len(data) <= INLINE_BYTES_MAX:
            digest = self._digester.digest(data)
            inline: bytes | None = data
        else:
            body, objects = make_body(data, redacted=redacted, digester=self._digester)
            for key, value in objects:
                self._put_object(key, value)
            digest, inline, chunks = body.digest, None, body.chunks
        if redacted and self._keep_raw is not None:
            self._keep_raw(self._place(entry, name, digest), raw, data)
        return {"digest": digest, "size": len(data), "redacted": redacted, "inline": inline, "chunks": chunks}

    def _redacted(self, raw: bytes) -> tuple[bytes, bool]:
        known, data, redacted = self._calls.refused
        return (data, redacted) if known is raw else self._redaction.redact(raw, self._digester)

    def _place(self, entry: Entry, name: str, digest: bytes) -> RawPlace:
        stream, seq = entry[0], entry[1]
        event_id = EventId(stream.run_id, stream.agent_id, stream.incarnation, seq)
        return RawPlace(self._tenant, stream.run_id, str(event_id), name, digest)

    def _error(self, error: ErrorDraft, entry: Entry) -> dict[str, object]:
        return {
            "type": error.type,
            "bases": list(error.bases),
            "message": self._texts.clean(error.message),
            "arguments": None if error.arguments is None else self._body(error.arguments, entry, ERROR_ARGUMENTS),
        }

    def _learn(self, event_type: str) -> _Kind:
        kind = self._kinds[event_type] = _Kind(event_type)
        return kind


class _Kind:
    """What is the same for every event of a type."""

    __slots__ = ("bodies", "has_usage", "is_call", "note", "prefix", "tag", "texts")

    def __init__(self, event_type: str) -> None:
        self.prefix = prefix_of(event_type)
        self.tag = schema_tag(self.prefix + _UNHASHED)
        self.bodies = BODY_FIELDS.get(event_type, ())
        self.note = NOTES.get(event_type)
        self.texts = TEXT_FIELDS.get(event_type, ())
        self.has_usage = event_type == "CallFinished"
        self.is_call = self.has_usage or event_type == "CallStarted"


def _known(source: CauseSource) -> Cause:
    return source if isinstance(source, Cause) else source.head()
