"""Texts on their way into an event: redacted, and always fit for UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

_REMEMBERED_MAX = 4096
_REMEMBERED_LENGTH_MAX = 200

TEXT_FIELDS: dict[str, tuple[str, ...]] = {
    "RunStarted": ("name",),
    "AgentStarted": ("role",),
    "CallStarted": ("name", "version"),
    "CallFinished": ("unrecorded",),
    "EffectTransitioned": ("name", "reason", "by"),
    "StateChanged": ("key",),
    "Checkpointed": ("name",),
    "ArtifactWritten": ("name", "media_type"),
    "RunImported": ("source",),
}
"""Fields that control logic can put anything into. Idempotency keys are redacted before the ledger sees them."""


class Texts:
    """Redacts texts; the short ones that come again and again are remembered."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._known: dict[str, str] = {}

    def clean(self, text: str) -> str:
        """The text as it may be written."""
        known = self._known.get(text)
        if known is None:
            known = self._redact(encodable(text))
            if len(text) <= _REMEMBERED_LENGTH_MAX:
                if len(self._known) >= _REMEMBERED_MAX:
                    self._known.clear()
                self._known[text] = known
        return known

    def clean_fields(self, fields: dict[str, object], names: tuple[str, ...]) -> None:
        """Clean the named fields in place, where they are texts."""
        for name in names:
            value = fields[name]
            if isinstance(value, str):
                fields[name] = self.clean(value)

    def clean_details(self, details: object) -> object:
        """The details with every text in them cleaned."""
        if isinstance(details, str):
            return self.clean(details)
        if isinstance(details, dict):
            fields = cast("dict[str, object]", details)
            return {key: self.clean_details(value) for key, value in fields.items()}
        if isinstance(details, list):
            return [self.clean_details(value) for value in cast("list[object]", details)]
        if isinstance(details, tuple):  # the name of the union's branch, and the fields
            branch, made = cast("tuple[str, object]", details)
            return (branch, self.clean_details(made))
        return details


def encodable(text: str) -> str:
    """The text with lone surrogates written out."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
