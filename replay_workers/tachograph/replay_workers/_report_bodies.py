"""Payloads in few characters; one that is not there is said to be missing, and is no error."""

from __future__ import annotations

from collections.abc import Callable

from tachograph.core.errors import EvidenceBroken
from tachograph.replay_workers._report_plain import payload_text, plain
from tachograph.schemas import Body

_SHOWN_BYTES_MAX = 256 * 1024
"""A larger body is shown by its beginning only: parsing it for a line of text is not worth the time."""


class Bodies:
    """Shows bodies.

    Args:
        read: gives a payload by its body and its event's id; raises EvidenceBroken where it is not there.
    """

    def __init__(self, read: Callable[[Body, str], bytes]) -> None:
        self._read = read

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
            return self._read(body, event_id)
        except EvidenceBroken:
            return None
