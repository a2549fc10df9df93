"""The effect ledger beside the recording: every move of an effect is an event, and is known before the next attempt."""

from __future__ import annotations

from tachograph.core.effects import Ledger
from tachograph.producers._entry import Draft
from tachograph.schemas import EffectState


class Effect:
    """One effect on its way: what the ledger calls it, and where it stands."""

    __slots__ = ("_ledger", "id", "key", "name", "state")

    def __init__(
        self,
        ledger: Ledger,
        effect_id: str,
        name: str,
        key: str | None,
        state: EffectState = EffectState.PLANNED,
    ) -> None:
        self._ledger = ledger
        self.id = effect_id
        self.name = name
        self.key = key
        self.state = state

    def plan(self) -> None:
        """Be admitted.

        Raises:
            EffectRefused: an earlier attempt is UNKNOWN, still executing, or has happened.
        """
        self._ledger.admit(self.name, self.key)
        self._ledger.moved(self.id, self.name, self.key, EffectState.PLANNED)

    def move(
        self, to: EffectState, *, reason: str | None = None, receipt: bytes | None = None, by: str = "recorder"
    ) -> Draft:
        """Move, and give the event that says so.

        Raises:
            EffectRefused: `to` is EXECUTING and another attempt under the same key is on its way.
        """
        self._ledger.moved(self.id, self.name, self.key, to)
        fields: dict[str, object] = {
            "effect_id": self.id,
            "name": self.name,
            "idempotency_key": self.key,
            "from_state": self.state.value,
            "to_state": to.value,
            "reason": reason,
            "by": by,
            "receipt": receipt,
        }
        self.state = to
        return Draft("EffectTransitioned", fields)
