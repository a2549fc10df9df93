"""What stood behind calls: approvals, versions of tools, versions of indexes."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Approval:
    """A decision on an action; approvals of one action sort by their time."""

    hlc: int
    event_id: str
    """Of the CallFinished."""
    agent_id: str
    granted: bool
    approver: str
    expires_at_us: int | None
    """Microseconds since 1970."""


FirstUse = tuple[int, str]
"""(hlc, event id) of the first call."""


def was_decided(approvals: dict[str, list[Approval]], action: str, approval: Approval) -> None:
    """An action, by its digest, was approved or not."""
    insort(approvals.setdefault(action, []), approval)


def was_versioned(versions: dict[str, dict[str, FirstUse]], name: str, version: str, use: FirstUse) -> None:
    """A tool or an index was used in a version."""
    known = versions.setdefault(name, {})
    known[version] = min(use, known.get(version, use))
