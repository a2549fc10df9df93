"""Payloads of a home in few characters; one that is not there is said to be missing, and is no error."""

from __future__ import annotations

from tachograph.core.errors import EvidenceBroken
from tachograph.replay_workers._report_plain import payload_text, plain
from tachograph.schemas import Body
from tachograph.stores import Home

_SHOWN_BYTES_MAX = 256 * 1024
"""A larger body is shown by its beginning only: parsing it for a line of text is not worth the time."""


class Bodies:
    """Shows bodies of one home."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def text(self, body: Body | None, event_id: str, characters_max: int) -> str:
        """A body on one line; nothing for none."""
        if body is None:
            return ""
        data = self.read(body, event_id)
        if data is None:
            return f"(body missing, {body.size} bytes)"
        if len(data) > _SHOWN_BYTES_MAX:
            return plain(data[: characters_max - 1].decode("utf-8", "replace")) + "…"
        return payload_text(data, characters_max)

    def read(self, body: Body, event_id: str) -> bytes | None:
        """A body's bytes."""
        try:
            return self._home.body(body, event_id)
        except EvidenceBroken:
            return None
