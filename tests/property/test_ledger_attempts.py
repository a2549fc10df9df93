"""Whatever two processes try, no effect is executed while an earlier attempt under its key may have happened."""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tachograph.core.effects import Ledger, after_crash, decided, transition
from tachograph.core.errors import EffectRefused
from tachograph.core.ports import PastEffect
from tachograph.core.testing import MemoryEffects
from tachograph.schemas import CallOutcome, EffectState

EXAMPLES = 1_000 if os.environ.get("TACHO_NIGHTLY") == "1" else 60
KEYS = st.sampled_from(["k1", "k2"])
PROCESSES = st.integers(0, 1)
MAY_HAVE_HAPPENED = {EffectState.EXECUTING, EffectState.UNKNOWN, EffectState.CONFIRMED, EffectState.RECONCILED}


class TwoProcesses(RuleBasedStateMachine):
    """Two recorders over one log that is visible to both."""

    def __init__(self) -> None:
        super().__init__()
        self.log = MemoryEffects()
        self.ledgers = [Ledger("acme", self.log), Ledger("acme", self.log)]
        self.states: dict[str, tuple[str, EffectState]] = {}
        self.executing: dict[str, int] = {}
        self.harm: list[str] = []

    def move(self, effect_id: str, key: str, to: EffectState) -> None:
        """An event in the log."""
        self.states[effect_id] = (key, to)
        self.log.add(PastEffect(effect_id, "acme", "pay", key, to))

    @rule(process=PROCESSES, key=KEYS)
    def attempt(self, process: int, key: str) -> None:
        """Try, and leave if it is admitted."""
        effect_id = f"e{len(self.states)}"
        ledger = self.ledgers[process]
        try:
            ledger.admit("pay", key)
            for state in (EffectState.PLANNED, EffectState.EXECUTING):
                ledger.moved(effect_id, "pay", key, state)
        except EffectRefused:
            self.move(effect_id, key, EffectState.FAILED)
            return
        if any(other == key and state in MAY_HAVE_HAPPENED for other, state in self.states.values()):
            self.harm.append(effect_id)
        self.move(effect_id, key, EffectState.EXECUTING)
        self.executing[effect_id] = process

    @precondition(lambda self: self.executing)
    @rule(data=st.data(), outcome=st.sampled_from(list(CallOutcome)))
    def come_back(self, data: st.DataObject, outcome: CallOutcome) -> None:
        """An executing effect comes back."""
        effect_id = data.draw(st.sampled_from(sorted(self.executing)))
        key, state = self.states[effect_id]
        after = transition(state, outcome)
        self.ledgers[self.executing.pop(effect_id)].moved(effect_id, "pay", key, after)
        self.move(effect_id, key, after)

    @rule(process=PROCESSES)
    def crash(self, process: int) -> None:
        """A process dies and is started again."""
        for effect_id in [effect_id for effect_id, owner in self.executing.items() if owner == process]:
            del self.executing[effect_id]
            key, state = self.states[effect_id]
            self.move(effect_id, key, after_crash(state))
        self.ledgers[process] = Ledger("acme", self.log)

    @rule(data=st.data(), happened=st.booleans(), process=st.sampled_from([0, 1, None]))
    def decide(self, data: st.DataObject, happened: bool, process: int | None) -> None:
        """Somebody decides an UNKNOWN effect, in one of the processes or from outside."""
        unknown = [effect_id for effect_id, (_, state) in self.states.items() if state is EffectState.UNKNOWN]
        if not unknown:
            return
        effect_id = data.draw(st.sampled_from(unknown))
        key, _ = self.states[effect_id]
        after = decided(happened=happened)
        self.move(effect_id, key, after)
        if process is not None:
            self.ledgers[process].moved(effect_id, "pay", key, after)

    @invariant()
    def never_twice(self) -> None:
        """No attempt left while another under its key may have happened."""
        assert not self.harm


TwoProcesses.TestCase.settings = settings(print_blob=True, max_examples=EXAMPLES, deadline=None, stateful_step_count=30)
test_two_processes = TwoProcesses.TestCase
