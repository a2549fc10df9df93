"""Versioned redaction policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import orjson

from tachograph.core.canonical import JsonValue, canonical, dump_tagged
from tachograph.core.errors import InvalidSetting
from tachograph.core.redaction._suspicion import is_suspicious
from tachograph.core.redaction._tokens import Digests, Minter
from tachograph.core.redaction._walk import Walk


@dataclass(frozen=True, slots=True)
class RedactionPolicy:
    """What is replaced by tokens before anything is written. A version's rules never change: a replay needs them."""

    version: str
    """As it stands in RunStarted, such as `default/1`."""
    enabled: bool = True
    """Whether anything is replaced at all."""

    def redact(self, data: bytes, tokens: Digests) -> tuple[bytes, bool]:
        """A body with secrets and personal data replaced by tokens, and whether any was.

        Args:
            data: canonical JSON as `encode_body` or `canonical` writes it.
            tokens: the tenant's digester; the same value has the same token under the same key.

        Returns:
            Canonical JSON: the same bytes where there was nothing to replace. Redacting it again changes nothing.
        """
        if not self.enabled or not is_suspicious(data):
            return data, False
        minter = Minter(tokens)
        value = cast("JsonValue", orjson.loads(data))
        redacted = Walk(minter).value(value)
        if minter.count == 0:
            return data, False
        return _written_like(data, value, redacted), True

    def redact_text(self, text: str, tokens: Digests) -> str:
        """A text (an exception's message, a name, a key) with secrets and personal data replaced by tokens."""
        if not self.enabled:
            return text
        if "\\u00" not in text and not is_suspicious(text.encode("utf-8", "surrogatepass")):
            return text
        return Walk(Minter(tokens)).text(text)


def _written_like(data: bytes, value: JsonValue, redacted: JsonValue) -> bytes:
    """Keys sorted unless the original keeps the order of its dicts."""
    if dump_tagged(value, ordered=False) == data:
        return dump_tagged(redacted, ordered=False)
    if dump_tagged(value, ordered=True) == data:
        return dump_tagged(redacted, ordered=True)
    return canonical(redacted)


DEFAULT_POLICY = RedactionPolicy("default/1")
"""Secrets by name and shape, e-mail addresses, phone and card numbers."""

NO_REDACTION = RedactionPolicy("none/1", enabled=False)
"""Nothing is replaced."""

_POLICIES = {policy.version: policy for policy in (DEFAULT_POLICY, NO_REDACTION)}


def policy_of(version: str) -> RedactionPolicy:
    """The policy of a recorded version.

    Raises:
        InvalidSetting: this release does not know it.
    """
    try:
        return _POLICIES[version]
    except KeyError:
        raise InvalidSetting("redaction policy", version, f"known are {', '.join(sorted(_POLICIES))}") from None
