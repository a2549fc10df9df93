"""Which body a raw form belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from tachograph.core.canonical import Digester

ERROR_ARGUMENTS = "error.arguments"
"""The field of an exception's arguments; every other body lies in a field of its event."""

_LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class RawPlace:
    """One body of one event. A raw form is bound to all of this: under another event, or beside another body, it does not open."""

    tenant: str
    run_id: str
    event_id: str
    field: str
    """As in `result`, or ERROR_ARGUMENTS."""
    digest: bytes
    """Of the redacted body."""

    def bound(self) -> bytes:
        """What the raw form is bound to."""
        return bound("raw body", self.tenant, self.run_id, self.event_id, self.field, self.digest)

    def name(self, names: Digester) -> bytes:
        """The name under which it lies, 32 bytes: without the run's key nobody can tell whose it is."""
        return names.digest(bound("raw name", self.event_id, self.field))


def bound(*parts: str | bytes) -> bytes:
    """Parts as bytes, each with its length before it: no two lists of parts give the same."""
    whole: list[bytes] = []
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        whole += (len(data).to_bytes(_LENGTH_BYTES, "big"), data)
    return b"".join(whole)
