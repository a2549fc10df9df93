"""What the auditor looks at of an event, and what it says of it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from tachograph.core.causality import event_hash


class Head(NamedTuple):
    """An event, as far as it has to be looked at."""

    seq: int
    hash: bytes
    """As the event states it."""
    tag: str | None
    """Of its schema; None where this release does not know it: then its hash cannot be checked."""
    content: bytes
    """Its bytes behind the hash."""
    causes: tuple[bytes, ...]
    """Hashes of its causes, in the order in which it names them."""
    ends: bool
    """Whether it ends its stream."""

    def fits(self, previous: bytes) -> bool:
        """Whether its hash is made over its bytes and an event with that hash before it."""
        return self.tag is None or event_hash(self.tag, self.content, previous, self.causes) == self.hash


class Verdict(StrEnum):
    """What one event is."""

    NEW = "NEW"
    """The next one of its stream, and whole."""
    EARLY = "EARLY"
    """Events before it have not come yet."""
    DUPLICATE = "DUPLICATE"
    """Proved to be the same as one that was counted."""
    UNPROVED = "UNPROVED"
    """Its place was counted so long ago that nothing is left to compare it with."""
    FORKED = "FORKED"
    """Its place is taken by another event, or it goes on from such a one."""
    LATE = "LATE"
    """Whole and in its place, but its stream had ended or its run was closed."""
    BROKEN = "BROKEN"
    """Its hash is not made over its bytes and the event before it."""
