"""Messages within a fork: an agent gets what another one sends it there; what is not sent there, as it is recorded."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass

from tachograph.core.replay import Step
from tachograph.replay_workers._fork_change import CallKey, Change, Letter, Sent


@dataclass(eq=False, slots=True)
class _Waiting:
    """A receiver that has nothing yet."""

    agent_id: str
    expected: Letter | None
    given: asyncio.Future[Sent | None]


class Mail:
    """The messages between the agents of a unit that changes."""

    def __init__(self, change: Change) -> None:
        self._expected = change.letters if change.changed else {}
        self._active = change.changed
        self._untaken: defaultdict[str, list[Sent]] = defaultdict(list)
        self._counts: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._waiting: list[_Waiting] = []
        self._recorded: defaultdict[tuple[str, str], int] = defaultdict(int)
        """How many messages from one agent to another were received in the recording."""
        for (agent_id, _, _), letter in self._expected.items():
            pair = (letter.sender[0], agent_id)
            self._recorded[pair] = max(self._recorded[pair], letter.number + 1)

    def number(self, from_agent_id: str, to_agent_id: str) -> int:
        """The number of the message that is sent next from one agent to another."""
        number = self._counts[from_agent_id, to_agent_id]
        self._counts[from_agent_id, to_agent_id] = number + 1
        return number

    def post(self, message: Sent) -> None:
        """A message was sent; who waits for it goes on in the next turn."""
        for waiting in self._waiting:
            mine = waiting.agent_id == message.to_agent_id and not waiting.given.done()
            if mine and self._fits(message, waiting.expected):
                waiting.given.set_result(message)
                return
        self._untaken[message.to_agent_id].append(message)

    def ready(self, agent_id: str, recorded: Step | None) -> Sent | None:
        """The message that answers a `receive`, if it was sent already; it is taken now."""
        expected = self._letter(recorded)
        fitting = (one for one in self._untaken[agent_id] if self._fits(one, expected))
        return self._taken(next(fitting, None))

    def is_awaited(self, recorded: Step | None) -> bool:
        """Whether a `receive` is answered by an agent of the unit."""
        return self._active and (recorded is None or self._letter(recorded) is not None)

    async def arrival(self, agent_id: str, recorded: Step | None) -> Sent | None:
        """Wait for a message; None where none comes."""
        waiting = _Waiting(agent_id, self._letter(recorded), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            return await waiting.given
        finally:
            self._waiting.remove(waiting)

    def relieve(self) -> bool:
        """Nothing else can happen: whoever waits gets what there is, or nothing; whether anybody waited."""
        waiting = [one for one in self._waiting if not one.given.done()]
        for one in waiting:
            message = self._taken(next(iter(self._untaken[one.agent_id]), None))
            if message is not None:
                one.given.set_result(message)
                return True
        waiting.sort(key=lambda one: one.expected is None)  # what is recorded can still be given
        if waiting:
            waiting[0].given.set_result(None)
        return bool(waiting)

    def is_recorded(self, message: Sent, recorded: Step | None) -> bool:
        """Whether a message is the recorded one."""
        letter = self._letter(recorded)
        return letter is not None and (message.stream, message.origin) == (letter.sender, letter.seq)

    def _taken(self, message: Sent | None) -> Sent | None:
        if message is not None:
            self._untaken[message.to_agent_id].remove(message)
        return message

    def _letter(self, recorded: Step | None) -> Letter | None:
        if recorded is None:
            return None
        key: CallKey = (recorded.agent_id, recorded.incarnation, recorded.seq)
        return self._expected.get(key)

    def _fits(self, message: Sent, expected: Letter | None) -> bool:
        """Whether it stands for the expected one; else, whether the recording has none that it stands for."""
        if expected is not None:
            return (message.from_agent_id, message.number) == (expected.sender[0], expected.number)
        return message.number >= self._recorded[message.from_agent_id, message.to_agent_id]
