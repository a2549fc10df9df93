"""The face of a run: what control logic opens its agents on."""

from __future__ import annotations

from collections.abc import Sequence

from tachograph.core.boundary._opening import Opening
from tachograph.core.boundary._tape import Tape
from tachograph.core.boundary._values import Fact, RunContext
from tachograph.schemas import Fidelity


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

    def imported(self, source: str, fidelity: Fidelity, missing: Sequence[str], details: object = None) -> None:
        """State that the run is brought from elsewhere (RunImported): for importers, not for control logic.

        Args:
            source: what the run comes from, as in `airline`.
            fidelity: what its evidence is good for; never more than the source can prove.
            missing: what the source does not carry, one phrase each.
            details: more about the origin; anything that can be recorded.
        """
        value = {"fidelity": fidelity.value, "missing": list(missing), "details": details}
        self._tape.note(Fact("imported", source, value))
