"""Texts on their way into an event: redacted, and always fit for UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

TEXT_CHARACTERS_MAX = 65_536
"""Names and details longer than this are cut: what is large belongs into a payload."""

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
        return known if known is not None else self._learn(text)

    def _learn(self, text: str) -> str:
        text = text if isinstance(text, str) else str(text)  # pyright: ignore[reportUnnecessaryIsInstance]
        clean = self._redact(encodable(text[:TEXT_CHARACTERS_MAX]))
        if len(text) <= _REMEMBERED_LENGTH_MAX:
            if len(self._known) >= _REMEMBERED_MAX:
                self._known.clear()
            self._known[text] = clean
        return clean

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
