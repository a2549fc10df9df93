"""The effect ledger beside the recording: every move of an effect is an event, and is known before the next attempt."""

from __future__ import annotations

from collections.abc import Callable

from tachograph.core.effects import Ledger
from tachograph.producers._entry import Draft, Extra
from tachograph.schemas import EffectState

ClaimEffect = Callable[[str, str, str], Callable[[], None]]
"""Takes name, key and effect id; gives what lets others try."""


class Effect:
    """One effect on its way: what the ledger calls it, and where it stands."""

    __slots__ = ("_ledger", "_release", "id", "key", "name", "state")

    def __init__(
        self,
        ledger: Ledger,
        effect_id: str,
        name: str,
        key: str | None,
        state: EffectState = EffectState.PLANNED,
    ) -> None:
        self._ledger = ledger
        self._release: Callable[[], None] | None = None
        self.id = effect_id
        self.name = name
        self.key = key
        self.state = state

    def plan(self, claim: ClaimEffect) -> None:
        """Be admitted.

        Args:
            claim: keeps other processes from the effect, until the log says how it ended.

        Raises:
            EffectRefused: an earlier attempt is UNKNOWN, still executing, or has happened.
            StoreUnavailable: nobody can say whether there is one.
        """
        if self.key is None:
            return
        self._ledger.admit_own(self.name, self.key)
        self._release = claim(self.name, self.key, self.id)
        try:
            self._ledger.admit(self.name, self.key)
            self._ledger.moved(self.id, self.name, self.key, EffectState.PLANNED)
        except BaseException:
            self._let_go()
            raise

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
        if to is EffectState.FAILED:
            self._let_go()  # it may be tried again, here at once
        ended = to is not EffectState.EXECUTING and self._release is not None
        return Draft("EffectTransitioned", fields, Extra(written=self._let_go) if ended else None)

    def _let_go(self) -> None:
        release, self._release = self._release, None
        if release is not None:
            release()
