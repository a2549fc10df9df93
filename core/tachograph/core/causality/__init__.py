"""What happened before what: hybrid logical clocks, event ids and hashes, and delivery in causal order."""

from tachograph.core.causality._clock import HybridClock, hlc_ms
from tachograph.core.causality._hash import GENESIS, event_hash
from tachograph.core.causality._hold_back import HoldBack, HoldBackFull
from tachograph.core.causality._ids import EventId, check_id

__all__ = [
    "GENESIS",
    "EventId",
    "HoldBack",
    "HoldBackFull",
    "HybridClock",
    "check_id",
    "event_hash",
    "hlc_ms",
]
