"""Where an event belongs, read from the first bytes of its payload without decoding it.

Every event starts with EventMeta, whatever its schema, so this works for types that this release does not know. The
layout is Avro's: integers are zigzag varints, a string is its length and its UTF-8 bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from tachograph.core.errors import EvidenceBroken
from tachograph.schemas import CONTENT_OFFSET


class Address(NamedTuple):
    """An event's key, its clock, and where its causes begin."""

    run_id: str
    agent_id: str
    incarnation: int
    seq: int
    hlc: int
    end: int
    """Offset behind `run_id`."""


class Unaddressed(EvidenceBroken):
    """A payload that does not start as an event."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(f"a frame of {len(payload)} bytes is not an event: {payload[:16]!r}… is not how one starts.")


def address_of(payload: bytes) -> Address:
    """The address.

    Raises:
        Unaddressed: the payload is not an event.
    """
    try:
        if payload[0] != 0:
            raise Unaddressed(payload)
        seq, at = varint(payload, CONTENT_OFFSET)
        hlc, at = varint(payload, at)
        agent_id, at = text(payload, at)
        incarnation, at = varint(payload, at)
        run_id, at = text(payload, at)
    except (IndexError, ValueError) as error:
        raise Unaddressed(payload) from error
    return Address(run_id, agent_id, incarnation, seq, hlc, at)


def tenant_in(payload: bytes, address: Address) -> str:
    """The tenant of an event.

    Raises:
        Unaddressed: the payload is not an event.
    """
    try:
        return text(payload, address.end)[0]
    except (IndexError, ValueError) as error:
        raise Unaddressed(payload) from error


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint, and the offset behind it."""
    byte = data[at]
    at += 1
    value = byte & 0x7F
    shift = 7
    while byte & 0x80:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), at


def text(data: bytes, at: int) -> tuple[str, int]:
    """A string, and the offset behind it.

    Raises:
        ValueError: it is no string.
    """
    size, at = varint(data, at)
    end = at + size
    if size < 0 or end > len(data):
        raise ValueError(size)
    return data[at:end].decode(), end
