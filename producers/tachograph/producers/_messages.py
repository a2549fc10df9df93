"""Messages between their MessageSent and their MessageReceived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachograph.core.boundary import Envelope
from tachograph.core.canonical import encode_body
from tachograph.core.ports import Transport
from tachograph.producers._entry import CauseSource, Sent
from tachograph.producers._in_process import InProcessTransport
from tachograph.producers._lowering import HASH_BYTES
from tachograph.schemas import Cause

if TYPE_CHECKING:
    from tachograph.producers._journal import Journal


@dataclass(frozen=True, slots=True)
class LocalEnvelope(Envelope):
    """An envelope that has not left the process: its cause is known by identity, its hash not yet."""

    sent: Sent


def for_transport(envelope: Envelope, transport: Transport, journal: Journal) -> Envelope:
    """The envelope as the transport may have it: one that leaves the process carries its event's hash.

    Raises:
        SpoolUnwritable: its MessageSent cannot be written; it must not leave.
    """
    if not isinstance(envelope, LocalEnvelope) or isinstance(transport, InProcessTransport):
        return envelope
    journal.write_out()
    return Envelope(
        envelope.run_id, envelope.message_id, envelope.from_agent_id, envelope.to_agent_id, envelope.body,
        envelope.incarnation, envelope.seq, envelope.hlc, envelope.sent.hash.hex(),
    )  # fmt: skip


def origin_of(envelope: Envelope) -> tuple[bytes, tuple[CauseSource, ...]]:
    """A received message's body before redaction, and its MessageSent as a cause where its sender recorded it."""
    if isinstance(envelope, LocalEnvelope):
        return envelope.sent.body, (envelope.sent,)
    body = encode_body(envelope.body)
    digest = digest_of(envelope.hash)
    if digest is None:
        return body, ()
    return body, (Cause(envelope.run_id, envelope.from_agent_id, envelope.incarnation, envelope.seq, digest),)


def digest_of(text: str) -> bytes | None:
    """The hash in a text from another process; None where there is none."""
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        return None
    return digest if len(digest) == HASH_BYTES else None
