"""Drafts to bytes: redaction, digests, chunks, Avro, and the hash that chains an event to what it depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tachograph.core.canonical import INLINE_BYTES_MAX, Digester, make_body
from tachograph.core.causality import event_hash
from tachograph.producers._entry import CauseSource, Draft, ErrorDraft
from tachograph.producers._texts import TEXT_FIELDS, Texts
from tachograph.schemas import Cause, encode_record, prefix_of, schema_tag

HASH_BYTES = 32
_UNHASHED = bytes(HASH_BYTES)


class Redaction(Protocol):
    """What the writer needs of a redaction policy."""

    def redact(self, data: bytes, tokens: Digester) -> tuple[bytes, bool]:
        """Canonical JSON in, canonical JSON out, and whether something was replaced."""
        ...

    def redact_text(self, text: str, tokens: Digester) -> str:
        """The same for a text."""
        ...


class Lowering:
    """Turns drafts into payloads. Drafts must come in the order of the queue."""

    def __init__(
        self,
        tenant: str,
        redaction: Redaction,
        digester: Digester,
        put_object: Callable[[bytes, bytes], None],
    ) -> None:
        self._tenant = tenant
        self._redaction = redaction
        self._digester = digester
        self._put_object = put_object
        self._texts = Texts(lambda text: redaction.redact_text(text, digester))
        self._kinds: dict[str, _Kind] = {}

    def payload(self, draft: Draft) -> bytes:
        """The event's bytes; its stream's head moves to it.

        Raises:
            StoreUnavailable: a body's chunk could not be stored.
        """
        kind = self._kinds.get(draft.type) or self._learn(draft.type)
        fields = draft.fields
        causes = [source if type(source) is Cause else _known(source) for source in draft.causes]
        fields["meta"] = self._meta(draft, causes)
        if kind.texts:
            self._texts.clean_fields(fields, kind.texts)
        if fields.get("details"):
            fields["details"] = self._texts.clean_details(fields["details"])
        for name, data in draft.bodies:
            fields[name] = None if data is None else self._body(data)
        if kind.has_error:
            fields["error"] = None if draft.error is None else self._error(draft.error)
        content = encode_record(draft.type, fields)[HASH_BYTES:]
        stream = draft.stream
        digest = event_hash(kind.tag, content, stream.head_hash, [cause.hash for cause in causes])
        stream.head_hash, stream.head_seq, stream.head_hlc = digest, draft.seq, draft.hlc
        if draft.sent is not None:
            draft.sent.hash = digest
        return kind.prefix + digest + content

    def _learn(self, event_type: str) -> _Kind:
        kind = self._kinds[event_type] = _Kind(event_type)
        return kind

    def _meta(self, draft: Draft, causes: list[Cause]) -> dict[str, object]:
        stream = draft.stream
        return {
            "hash": _UNHASHED,
            "seq": draft.seq,
            "hlc": draft.hlc,
            "agent_id": stream.agent_id,
            "incarnation": stream.incarnation,
            "run_id": stream.run_id,
            "tenant": self._tenant,
            "causes": [_cause_fields(cause) for cause in causes] if causes else [],
            "recorded_at_us": draft.recorded_at_us,
            "logical_time_us": draft.logical_time_us,
            "trace": None,
        }

    def _body(self, raw: bytes) -> dict[str, object]:
        data, redacted = self._redaction.redact(raw, self._digester)
        if len(data) <= INLINE_BYTES_MAX:
            digest = self._digester.digest(data)
            return {"digest": digest, "size": len(data), "redacted": redacted, "inline": data, "chunks": []}
        body, chunks = make_body(data, redacted=redacted, digester=self._digester)
        for key, chunk in chunks:
            self._put_object(key, chunk)
        return {
            "digest": body.digest,
            "size": body.size,
            "redacted": body.redacted,
            "inline": body.inline,
            "chunks": list(body.chunks),
        }

    def _error(self, error: ErrorDraft) -> dict[str, object]:
        return {
            "type": error.type,
            "bases": list(error.bases),
            "message": self._texts.clean(error.message),
            "arguments": None if error.arguments is None else self._body(error.arguments),
        }


class _Kind:
    """What is the same for every event of a type."""

    __slots__ = ("has_error", "prefix", "tag", "texts")

    def __init__(self, event_type: str) -> None:
        self.prefix = prefix_of(event_type)
        self.tag = schema_tag(self.prefix + _UNHASHED)
        self.texts = TEXT_FIELDS.get(event_type, ())
        self.has_error = event_type in ("CallFinished", "AgentFinished", "RunFinished")


def _known(source: CauseSource) -> Cause:
    return source if isinstance(source, Cause) else source.head()


def _cause_fields(cause: Cause) -> dict[str, object]:
    return {
        "run_id": cause.run_id,
        "agent_id": cause.agent_id,
        "incarnation": cause.incarnation,
        "seq": cause.seq,
        "hash": cause.hash,
    }
