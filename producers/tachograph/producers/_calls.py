"""Calls that hold a payload and nothing else: most of a recording, so that they have a way of their own to their bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tachograph.core.canonical import INLINE_BYTES_MAX, Digester
from tachograph.producers._entry import CallEnding, CallOpening, Fields
from tachograph.schemas import CallEncoder, SchemaMismatch

_OPENINGS_MAX = 4096
"""Kinds and names of calls whose bytes are remembered: made-up names without end must not stay for ever."""

_How = tuple[str, str, "str | None", str]


class Calls:
    """Encodes plain calls, behind their hash.

    Args:
        redact: canonical JSON in, canonical JSON out, and whether something was replaced.
        digester: for the digest of a payload.
        clean: makes a text one without secrets.
    """

    def __init__(
        self,
        redact: Callable[[bytes, Digester], tuple[bytes, bool]],
        digester: Digester,
        clean: Callable[[str], str],
    ) -> None:
        self._redact = redact
        self._digester = digester
        self._digest = digester.digest
        self._clean = clean
        encoder = CallEncoder()
        self._opening, self._started, self._finished = encoder.opening, encoder.started, encoder.finished
        self._openings: dict[_How, bytes] = {}
        self.refused: tuple[bytes, bytes, bool] = (b"", b"", False)
        """The latest payload that had to go another way, and what redaction made of it: it need not be redacted again."""

    def content(self, event_type: str, fields: CallOpening | CallEnding, head: bytes) -> bytes | None:
        """A call's event behind its hash; None: its payload is too large, holds a secret, or something does not fit."""
        raw = fields[4]
        data, redacted = self._redact(raw, self._digester)
        if redacted or len(data) > INLINE_BYTES_MAX:
            self.refused = (raw, data, redacted)
            return None
        digest, call = self._digest(data), fields[:4]
        try:
            if event_type == "CallFinished":
                return self._finished(head, call, digest, data)  # type: ignore[arg-type]  # a CallEnding's
            return self._started(head, self._openings.get(call) or self._learn(call), digest, data)  # type: ignore[arg-type]  # a CallOpening's
        except SchemaMismatch:
            return None

    def _learn(self, how: _How) -> bytes:
        kind, name, version, effect = how
        clean_version = None if version is None else self._clean(version)
        if len(self._openings) >= _OPENINGS_MAX:
            self._openings.clear()
        opening = self._openings[how] = self._opening(kind, self._clean(name), clean_version, effect)
        return opening


def named(event_type: str, fields: Fields) -> dict[str, object]:
    """The fields of an event by their names."""
    if isinstance(fields, dict):
        return fields
    if event_type == "CallFinished":
        call_id, outcome, yields, gap, result = cast("CallEnding", fields)
        return {
            "call_id": call_id, "outcome": outcome, "yields": yields, "gap": gap, "chunks": 0, "unrecorded": None,
            "usage": None, "details": None, "error": None, "receipt": None, "result": result,
        }  # fmt: skip
    kind, name, version, effect, arguments = cast("CallOpening", fields)
    return {
        "kind": kind, "name": name, "version": version, "effect": effect, "idempotency_key": None, "attempt": 1,
        "details": None, "arguments": arguments,
    }  # fmt: skip
