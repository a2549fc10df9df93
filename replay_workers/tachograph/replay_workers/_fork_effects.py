"""The ledger of a fork: effects are never executed there, and refused as they would be."""

from __future__ import annotations

from collections import Counter

from tachograph.core.boundary import Request
from tachograph.core.effects import Ledger, transition
from tachograph.core.replay import Step
from tachograph.replay_workers._fork_session import ForkSession, Found
from tachograph.schemas import CallOutcome, EffectState


class ForkEffects:
    """Effects of one unit. The parent's ledger is neither asked nor moved."""

    def __init__(self, session: ForkSession) -> None:
        self._session = session
        self._ledger = Ledger("fork")
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._decided = 0

    def key(self, request: Request) -> str | None:
        """The idempotency key as it is written."""
        return None if request.idempotency_key is None else self._session.clean(request.idempotency_key)

    def attempt(self, request: Request) -> int:
        """Which attempt of an effect this is, counted from 1; those without a key are all first."""
        key = self.key(request)
        if request.effect != "write" or key is None:
            return 1
        self._attempts[request.name, key] += 1
        return self._attempts[request.name, key]

    def admit(self, request: Request, step: Step, found: Found) -> None:
        """Return if an effect may be answered as one that was executed.

        What lies before the fork point is as it is recorded.

        Raises:
            EffectRefused: an earlier attempt is UNKNOWN, still executing, or has happened.
        """
        change = self._session.change
        if found.strict and found.step is not None and change.is_before(found.step.hlc):
            return
        self._decide(found.step.hlc if found.step is not None else self._session.reached_hlc)
        name, key = self._session.clean(request.name), self.key(request)
        self._ledger.admit(name, key)
        self._ledger.moved(self._id(step, found), name, key, EffectState.EXECUTING)

    def came_back(self, request: Request, step: Step, found: Found, outcome: CallOutcome) -> None:
        """An effect came back: control logic holds it for what its outcome says."""
        to = transition(EffectState.EXECUTING, outcome)
        self._ledger.moved(self._id(step, found), self._session.clean(request.name), self.key(request), to)

    def _decide(self, until_hlc: int) -> None:
        """Take in what somebody decided in the meantime."""
        decisions = self._session.change.decisions
        while self._decided < len(decisions) and decisions[self._decided].hlc < until_hlc:
            one = decisions[self._decided]
            self._ledger.moved(one.effect_id, one.name, one.idempotency_key, one.state)
            self._decided += 1

    def _id(self, step: Step, found: Found) -> str:
        known = found.step or step
        place = known.seq or f"step-{known.number}"
        return f"{self._session.unit.run_id}/{known.agent_id}#{known.incarnation}.{place}"
