"""Opening an agent: `async with` gives the asynchronous face, `with` the synchronous one."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from tachograph.core.boundary._context import entered, left
from tachograph.core.boundary._tape import Tape
from tachograph.core.boundary._values import Outcome
from tachograph.schemas import CallOutcome

if TYPE_CHECKING:
    from tachograph.core.boundary._agent import Agent
    from tachograph.core.boundary._sync import SyncAgent


class Opening:
    """An agent about to start; nothing is recorded before the `with`."""

    def __init__(self, parent: Tape, name: str, role: str = "") -> None:
        self._parent = parent
        self._name = name
        self._role = role
        self._tape: Tape | None = None

    async def __aenter__(self) -> Agent:
        from tachograph.core.boundary._agent import Agent

        self._tape = self._parent.open(self._name, self._role)
        self._tape.turns.opened()
        agent = Agent(self._tape)
        self._token = entered(agent)
        return agent

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(error)

    def __enter__(self) -> SyncAgent:
        from tachograph.core.boundary._sync import SyncAgent

        self._tape = self._parent.open(self._name, self._role)
        agent = SyncAgent(self._tape)
        self._token = entered(agent)
        return agent

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(error)

    def _close(self, error: BaseException | None) -> None:
        if self._tape is not None:
            left(self._token)
            self._tape.close(ending(error))


def ending(error: BaseException | None, value: object = None) -> Outcome:
    """How control logic ended, as an outcome."""
    if error is None:
        return Outcome(CallOutcome.OK, value=value)
    if isinstance(error, asyncio.CancelledError):
        return Outcome(CallOutcome.CANCELLED, error=error)
    return Outcome(CallOutcome.ERROR, error=error)
