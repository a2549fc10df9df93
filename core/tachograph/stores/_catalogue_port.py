"""What every catalogue tells, wherever it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tachograph.core.findings import EffectRow, RunRow
from tachograph.core.ports import PastEffects


class Catalogue(PastEffects, Protocol):
    """Runs and effects, derived from events and made anew from them at will."""

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        ...

    def runs(self) -> Sequence[RunRow]:
        """Every run, oldest first."""
        ...

    def run(self, run_id: str) -> RunRow:
        """One run.

        Raises:
            UnknownRun: there is no such run.
        """
        ...

    def effects(self, run_id: str | None = None) -> Sequence[EffectRow]:
        """The effects of a run, or all; in the order in which they last moved."""
        ...

    def effect(self, effect_id: str) -> EffectRow:
        """One effect.

        Raises:
            UnknownEffect: there is none.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...
