"""The past of effects for somebody who writes the log: what he wrote himself he knows better than any catalogue."""

from __future__ import annotations

from collections.abc import Collection

from tachograph.core.ports import PastEffect
from tachograph.schemas import EffectState
from tachograph.stores._catalogue import SqliteCatalogue


class PastBeside:
    """`PastEffects` that does not read the asker's own spools, which grow with all that he does, at every question.

    Args:
        catalogue: the home's.
        own: names of the asker's spools; it may grow.
    """

    def __init__(self, catalogue: SqliteCatalogue, own: Collection[str]) -> None:
        self._catalogue = catalogue
        self._own = own

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The effect under this key that counts, of all that others did: the latest that is not FAILED."""
        return self._catalogue.find_beside(self._own, tenant, name, idempotency_key)

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, whoever moved it last; None where it is not known."""
        return self._catalogue.state(effect_id)
