"""The past of effects for somebody who writes the log: what he wrote himself he knows better than any catalogue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tachograph.core.errors import StoreUnavailable, UnknownEffect
from tachograph.core.ports import PastEffect
from tachograph.schemas import EffectState
from tachograph.stores._catalogue import SqliteCatalogue
from tachograph.stores._catalogue_port import Catalogue

_DECIDED = (EffectState.RECONCILED, EffectState.FAILED)


class PastBeside:
    """`PastEffects` that does not read the asker's own spools, which grow with all that he does, at every question.

    Args:
        catalogue: the home's.
        own: names of the asker's spools; it may grow.
        far: of all machines, where there is one: what is UNKNOWN here may have been decided at another.
    """

    def __init__(self, catalogue: SqliteCatalogue, own: Collection[str], far: Catalogue | None = None) -> None:
        self._catalogue = catalogue
        self._own = own
        self._far = far

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The effect under this key that counts, of all that others did: the latest that is not FAILED."""
        found = self._catalogue.find_beside(self._own, tenant, name, idempotency_key)
        if found is None or found.state is not EffectState.UNKNOWN:
            return found
        return replace(found, state=self._decided(found.effect_id) or found.state)

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, whoever moved it last; None where it is not known."""
        state = self._catalogue.state(effect_id)
        return state if state in _DECIDED else self._decided(effect_id) or state

    def _decided(self, effect_id: str) -> EffectState | None:
        """What was decided at another machine. Who cannot be asked has decided nothing: the effect stays refused."""
        if self._far is None:
            return None
        try:
            state = self._far.effect(effect_id).state
        except (StoreUnavailable, UnknownEffect):
            return None
        return state if state in _DECIDED else None
