"""Cuts: causally closed sets of events, at which alone the state of a fleet is defined; and the cones of one event.

`Causality` keeps what matters of a fleet's events: streams, clocks, and the causes between streams. From it come cuts at a
time, an event or a position, the proof that a cut is closed, and what an event could have known or changed.
"""

from tachograph.core.cut._causality import Causality, Skew, Stream, UnknownEvent
from tachograph.core.cut._closure import cut_at_event, cut_at_positions, cut_at_time
from tachograph.core.cut._cones import Cone, future, past
from tachograph.core.cut._cut import Cut, Proof, proof
from tachograph.core.cut._fleets import Links, fleet_of
from tachograph.core.cut._outline import Outline, Reach
from tachograph.core.cut._waits import Wait, waits

__all__ = [
    "Causality",
    "Cone",
    "Cut",
    "Links",
    "Outline",
    "Proof",
    "Reach",
    "Skew",
    "Stream",
    "UnknownEvent",
    "Wait",
    "cut_at_event",
    "cut_at_positions",
    "cut_at_time",
    "fleet_of",
    "future",
    "past",
    "proof",
    "waits",
]
