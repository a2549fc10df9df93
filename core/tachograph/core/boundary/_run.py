"""The face of a run: what control logic opens its agents on."""

from __future__ import annotations

from tachograph.core.boundary._opening import Opening
from tachograph.core.boundary._tape import Tape
from tachograph.core.boundary._values import RunContext


class Run:
    """One run, as its control logic sees it."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    @property
    def id(self) -> str:
        """The run's id."""
        return self._tape.run_id

    def agent(self, name: str, role: str = "") -> Opening:
        """Open an agent: `async with run.agent("triage") as agent`, or `with` in synchronous control logic."""
        return Opening(self._tape, name, role)

    def context(self) -> RunContext:
        """What another process needs to join the run."""
        return self._tape.context()
