"""The ledger's gate: admits an effect, or refuses it because of an earlier attempt."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from tachograph.core.errors import EffectAlreadyConfirmed, ReconciliationRequired
from tachograph.core.ports import PastEffects
from tachograph.schemas import EffectState

_HAPPENED = (EffectState.CONFIRMED, EffectState.RECONCILED)
_DECIDED = (EffectState.RECONCILED, EffectState.FAILED)
_MAY_HAVE_HAPPENED = (EffectState.UNKNOWN, EffectState.EXECUTING)


@dataclass(frozen=True, slots=True)
class _Entry:
    effect_id: str
    state: EffectState


class Ledger:
    """Effects of one tenant by (tool name, idempotency key): those of this process, and those of the past.

    Only effects with an idempotency key can be told apart; one without a key is never refused. Safe to use from threads.
    """

    def __init__(self, tenant: str, past: PastEffects | None = None) -> None:
        self._tenant = tenant
        self._past = past
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._lock = Lock()

    def admit(self, name: str, key: str | None) -> None:
        """Return if an effect may be executed.

        Raises:
            ReconciliationRequired: an earlier attempt is UNKNOWN or still executing; it may happen or have happened.
            EffectAlreadyConfirmed: an earlier attempt has happened.
        """
        if key is None:
            return
        own = self._own(name, key)
        _refuse(name, key, own)
        past = self._of_the_past(name, key)
        if own is None or past is None or past.effect_id != own.effect_id:  # of one effect, this process knows more
            _refuse(name, key, past)

    def admit_own(self, name: str, key: str) -> None:
        """`admit` by what this process did itself.

        Raises:
            ReconciliationRequired: it is UNKNOWN or still executing.
            EffectAlreadyConfirmed: it has happened.
        """
        _refuse(name, key, self._own(name, key))

    def moved(self, effect_id: str, name: str, key: str | None, to: EffectState) -> None:
        """Note that an effect moved.

        Of two attempts that start at the same time under one key, the second is refused here.

        Raises:
            ReconciliationRequired: `to` is PLANNED or EXECUTING while another attempt is UNKNOWN or executing.
            EffectAlreadyConfirmed: `to` is PLANNED or EXECUTING while another attempt has happened.
        """
        if key is None:
            return
        with self._lock:
            before = self._entries.get((name, key))
            other = before if before is not None and before.effect_id != effect_id else None
            if to in (EffectState.PLANNED, EffectState.EXECUTING):
                _refuse(name, key, other)
            elif to is EffectState.FAILED and other is not None:
                return
            self._entries[name, key] = _Entry(effect_id, to)

    def _own(self, name: str, key: str) -> _Entry | None:
        """This process's latest attempt; an UNKNOWN one may meanwhile have been decided by somebody else."""
        with self._lock:
            own = self._entries.get((name, key))
        if own is None or own.state is not EffectState.UNKNOWN or self._past is None:
            return own
        state = self._past.state(own.effect_id)
        if state is None or state not in _DECIDED:
            return own
        with self._lock:
            if self._entries[name, key] == own:
                self._entries[name, key] = _Entry(own.effect_id, state)
            return self._entries[name, key]

    def _of_the_past(self, name: str, key: str) -> _Entry | None:
        found = self._past.find(self._tenant, name, key) if self._past is not None else None
        return _Entry(found.effect_id, found.state) if found is not None else None


def _refuse(name: str, key: str, earlier: _Entry | None) -> None:
    if earlier is None:
        return
    if earlier.state in _HAPPENED:
        raise EffectAlreadyConfirmed(name, key, earlier.effect_id)
    if earlier.state in _MAY_HAVE_HAPPENED:
        raise ReconciliationRequired(name, key, earlier.effect_id)
