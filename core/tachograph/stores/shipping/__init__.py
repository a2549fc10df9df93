"""What a shipper needs of a spool: reading it from a place on, the keys of its bodies, and a mark of how far it got.

`SpoolFollower` reads, `listed_keys` and `keys_of` find bodies, `Shipment` keeps mark, list of stuck events and lock.
`retire` removes a spool that the archive holds.
"""

from tachograph.stores._retired import is_retired
from tachograph.stores.shipping._bodies import keys_of, listed_keys
from tachograph.stores.shipping._follow import BEGINNING, Batch, Position, SpoolFollower
from tachograph.stores.shipping._mark import Mark, Shipment, age_ms, are_bodies_carried, mark_of
from tachograph.stores.shipping._name import name_of
from tachograph.stores.shipping._retire import clear, retire
from tachograph.stores.shipping._stuck import STUCK_REASONS, Stuck, StuckReason, stuck_of

__all__ = [
    "BEGINNING",
    "STUCK_REASONS",
    "Batch",
    "Mark",
    "Position",
    "Shipment",
    "SpoolFollower",
    "Stuck",
    "StuckReason",
    "age_ms",
    "are_bodies_carried",
    "clear",
    "is_retired",
    "keys_of",
    "listed_keys",
    "mark_of",
    "name_of",
    "retire",
    "stuck_of",
]
