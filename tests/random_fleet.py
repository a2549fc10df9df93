"""Runs as chance makes them: agents that open each other, call, write to each other and set state."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from chains import Chain, Clock
from tachograph.schemas import AgentStarted, Cause, MessageReceived, MessageSent, StateChanged


@dataclass(slots=True)
class RandomFleet:
    """Writes one run, event by event.

    Args:
        rng: decides.
        agents: opened at most.
        run_id: of the run.
    """

    rng: Random
    agents: int = 5
    run_id: str = "run-1"
    clock: Clock = field(default_factory=Clock)
    payloads: list[bytes] = field(default_factory=list[bytes])
    chains: list[Chain] = field(default_factory=list[Chain])
    letters: list[tuple[str, str, str, Cause]] = field(default_factory=list[tuple[str, str, str, Cause]])
    """(message id, from, to, its sending), not received yet."""
    open_calls: dict[str, int] = field(default_factory=dict[str, int])

    def write(self, events: int) -> list[bytes]:
        """The run's events, in causal order."""
        root = Chain(self.run_id, "run", self.clock)
        self.payloads.append(root.run_started())
        self.chains.append(root)
        while len(self.payloads) < events:
            chain = self.rng.choice(self.chains)
            chance = self.rng.random()
            if chance < 0.1 and len(self.chains) < self.agents:
                self._opens(chain)
            elif chance < 0.3:
                self._sends(chain)
            elif chance < 0.45:
                self._receives(chain)
            elif chance < 0.6:
                self._sets(chain)
            else:
                self._calls(chain)
        return self.payloads

    def _opens(self, parent: Chain) -> None:
        child = Chain(self.run_id, f"agent-{len(self.chains)}", self.clock)
        meta = child.meta((parent.latest,))
        self.payloads.append(child.add(AgentStarted(meta, "worker", parent.agent_id, None, None, None, "default/1")))
        self.chains.append(child)

    def _sends(self, chain: Chain) -> None:
        to = self.rng.choice(self.chains)
        if to is not chain:
            message_id = f"letter-{len(self.payloads)}"
            self.payloads.append(chain.add(MessageSent(chain.meta(), message_id, to.agent_id, chain.body("hello"))))
            self.letters.append((message_id, chain.agent_id, to.agent_id, chain.latest))

    def _receives(self, chain: Chain) -> None:
        waiting = [letter for letter in self.letters if letter[2] == chain.agent_id]
        if waiting and chain.agent_id not in self.open_calls:
            letter = self.rng.choice(waiting)
            self.letters.remove(letter)
            message_id, sender, _, cause = letter
            body = chain.body("hello")
            event = MessageReceived(chain.meta((cause,)), chain.seq, message_id, sender, -1, 0, body)
            self.payloads.append(chain.add(event))

    def _sets(self, chain: Chain) -> None:
        key = self.rng.choice(("mood", "goal"))
        self.payloads.append(chain.add(StateChanged(chain.meta(), key, chain.body(len(self.payloads)))))

    def _calls(self, chain: Chain) -> None:
        call = self.open_calls.pop(chain.agent_id, None)
        if call is None:
            self.payloads.append(chain.call_started("look_up", self.rng.randint(0, 3)))
            self.open_calls[chain.agent_id] = chain.seq
        else:
            self.payloads.append(chain.call_finished(self.rng.randint(0, 3), call_id=call))
