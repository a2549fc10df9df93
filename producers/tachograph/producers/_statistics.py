"""What a recorder shows of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statistics:
    """A snapshot of a recorder's counters, since the recorder was made (in a forked child: since the fork)."""

    events: int
    """Events written to the log."""
    bytes: int
    """Bytes of the events written, bodies in the object store not counted."""
    queue_events: int
    """Events that wait for the writer."""
    queue_bytes: int
    queue_events_high: int
    """The most events that ever waited."""
    fsyncs: int
    """How often the log was made durable."""
    blocked_us: int
    """How long callers waited because the queue was full."""
    dropped: int
    """Events not recorded because the log was broken and `on_broken_log` is `continue`."""
    late: int
    """Results that came back after their agent had ended; they are not in the log."""
    unrecorded: int
    """Results that could not be recorded because no codec can write them."""
    clocks_clamped: int
    """Remote clocks that were too far ahead to be adopted."""
    latest_error: str | None
    """What last went wrong in the writer, for a person."""
