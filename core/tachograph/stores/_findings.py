"""What verification finds, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Severity = Literal["damage", "warning"]
"""Damage: the evidence is not what was recorded. Warning: it is, but it ends early."""


class FindingKind(StrEnum):
    """What is wrong."""

    HEADER = "HEADER"
    """A segment's header is damaged, or another segment's."""
    FRAME = "FRAME"
    """A frame's bytes, length or checksum were changed, or a frame before it was removed, added or exchanged."""
    SEAL = "SEAL"
    """A closed segment is not what was sealed, or its end is missing."""
    SEGMENT_MISSING = "SEGMENT_MISSING"
    SPOOL_MISSING = "SPOOL_MISSING"
    SHORTENED = "SHORTENED"
    """A segment is shorter than it was when the catalogue read it."""
    UNREADABLE = "UNREADABLE"
    """An event that this release cannot decode."""
    CHANGED = "CHANGED"
    """An event's hash does not fit its content, the event before it and its causes."""
    CAUSE = "CAUSE"
    """The event that another one names as its cause is a different one."""
    MISSING = "MISSING"
    """An event that must be there is not."""
    REORDERED = "REORDERED"
    DUPLICATE = "DUPLICATE"
    """The same event with the same bytes lies there twice."""
    FORKED = "FORKED"
    """Two different events have the same key."""
    STATE = "STATE"
    """A run's end states another application state than its events add up to."""
    BODY_MISSING = "BODY_MISSING"
    BODY_CHANGED = "BODY_CHANGED"
    RAW_MISSING = "RAW_MISSING"
    """What redaction took out of a body is not there."""
    RAW_CHANGED = "RAW_CHANGED"
    """It is there, and is not what was sealed."""
    RAW_UNCHECKED = "RAW_UNCHECKED"
    """Whether it is whole cannot be told: a key is not here, or was shredded."""
    TORN = "TORN"
    """A process died within a write; its last, unfinished frame is not read."""
    TRUNCATED = "TRUNCATED"
    """A process died before it recorded the end of a stream."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    kind: FindingKind
    severity: Severity
    path: str
    """Of the file, below the home's directory."""
    offset: int
    """In bytes, of the frame or of what is wrong."""
    event_id: str | None
    """The event concerned, as far as it can be told."""
    sentence: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a verification looked at, and what it found."""

    findings: tuple[Finding, ...]
    events: int
    bodies: int
    """Objects checked, and inline bodies."""
    segments: int
    runs: int
    raw: int = 0
    """Raw bodies checked; those without a key are not."""

    @property
    def damaged(self) -> bool:
        """Whether any finding is damage; warnings are not."""
        return any(finding.severity == "damage" for finding in self.findings)
