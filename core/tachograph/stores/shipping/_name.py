"""What an event is called when it cannot be decoded."""

from __future__ import annotations

from tachograph.core.causality import EventId
from tachograph.core.errors import EvidenceBroken
from tachograph.stores._address import address_of


def name_of(payload: bytes) -> str:
    """An event's id, of whatever schema; its size where the bytes are no event's."""
    try:
        found = address_of(payload)
    except EvidenceBroken:
        return f"a frame of {len(payload)} bytes"
    return str(EventId(found.run_id, found.agent_id, found.incarnation, found.seq))
