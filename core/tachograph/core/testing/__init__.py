"""Fakes of the core's ports, for tests of whatever is built on them: no disk, no clock, no chance."""

from tachograph.core.testing._keys import MemoryKeys
from tachograph.core.testing._sources import FixedClock, SeededSources
from tachograph.core.testing._stores import MemoryEffects, MemoryLog, MemoryObjects
from tachograph.core.testing._transport import MemoryTransport

__all__ = [
    "FixedClock",
    "MemoryEffects",
    "MemoryKeys",
    "MemoryLog",
    "MemoryObjects",
    "MemoryTransport",
    "SeededSources",
]
