"""Processes that record, close and crash at random, for tests of what is derived from a log."""

from __future__ import annotations

from hypothesis import strategies as st

from chains import Chain, Clock
from tachograph.schemas import CallOutcome, EffectState
from tachograph.stores import Home, SpoolWriter

STATES = list(EffectState)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["open", "run", "call", "effect", "move", "back", "end", "close", "crash", "ask", "find"]),
        st.integers(0, 3),
        st.integers(0, 5),
    ),
    max_size=60,
)


class World:
    """A few processes that record, of which any may close or crash, and somebody who asks in between."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.clock = Clock()
        self.writers: list[SpoolWriter] = []
        self.chains: list[tuple[SpoolWriter, Chain]] = []
        self.effects: list[tuple[str, int, str]] = []
        self.decided: set[str] = set()
        """Effects of which the ledger said what became of them: no recorder lets a call come back behind that."""
        self.back: set[str] = set()
        """Effects whose call came back: no ledger says behind it that they are on their way."""
        self.lives = 0

    def take(self, action: str, one: int, two: int) -> None:
        if action == "ask":
            self.home.catalogue.runs()
        elif action == "find":
            self.home.past_effects.find("default", "send_mail", f"k-{one}")
        elif action == "open" or not self.writers:
            self.writers.append(SpoolWriter(self.home.path / "log", segment_bytes_max=700))
        elif action in ("close", "crash"):
            writer = self.writers.pop(one % len(self.writers))
            self.chains = [(other, chain) for other, chain in self.chains if other is not writer]
            writer.close() if action == "close" else writer.abandon()
        elif action == "run" or not self.chains:
            self._start(self.writers[one % len(self.writers)], two)
        else:
            self._step(action, *self.chains[one % len(self.chains)], two)

    def _start(self, writer: SpoolWriter, number: int) -> None:
        self.lives += 1
        root = number % 2 == 0
        chain = Chain(
            f"run-{number}",
            "run" if root else "mail",
            self.clock,
            incarnation=self.lives,
            digester=self.home.digester,
        )
        writer.append([chain.run_started() if root else chain.agent_started()])
        self.chains.append((writer, chain))

    def _step(self, action: str, writer: SpoolWriter, chain: Chain, number: int) -> None:
        if action == "call":
            writer.append([chain.call_started(value=number)])
        elif action == "effect":
            writer.append([chain.call_started("send_mail", number, key=f"k-{number}")])
            self.effects.append((chain.event_id, chain.seq, f"k-{number}"))
        elif action == "back" and self.effects:
            effect_id, seq, _ = self.effects[number % len(self.effects)]
            if effect_id in self.decided:
                return
            self.back.add(effect_id)
            outcome = list(CallOutcome)[number % len(CallOutcome)]
            writer.append([chain.call_finished(number, outcome, call_id=seq)])
        elif action == "move" and self.effects:
            effect_id, _, key = self.effects[-1 - number % len(self.effects)]
            states = STATES[number % 3], STATES[1 + number % (len(STATES) - 1)]
            if states[1] is not EffectState.EXECUTING:
                self.decided.add(effect_id)
            elif effect_id in self.back:
                return
            writer.append([chain.moved(effect_id, "send_mail", key, *states)])
        elif action == "end":
            ended = chain.run_finished() if chain.agent_id == "run" else chain.agent_finished()
            writer.append([ended])

    def close(self) -> None:
        """Every process ends."""
        for writer in self.writers:
            writer.close()
        self.writers.clear()
        self.chains.clear()
