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
        return replace(found, state=self._decided(found.effect_id, tenant) or found.state)

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, whoever moved it last; None where it is not known."""
        try:
            near = self._catalogue.effect(effect_id)
        except UnknownEffect:
            return self._decided(effect_id, None)
        return near.state if near.state in _DECIDED else self._decided(effect_id, near.tenant) or near.state

    def _decided(self, effect_id: str, tenant: str | None) -> EffectState | None:
        """What was decided at another machine. Who cannot be asked has decided nothing: the effect stays refused.

        Another tenant's effect may have the same id.
        """
        if self._far is None:
            return None
        try:
            far = self._far.effect(effect_id)
        except (StoreUnavailable, UnknownEffect):
            return None
        return far.state if far.state in _DECIDED and tenant in (None, far.tenant) else None
