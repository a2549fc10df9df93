"""Which runs belong together: forks and their parents, and runs of which one moved another's effect."""

from __future__ import annotations

from histories import history
from tachograph.core.findings import RunRow, row_of
from tachograph.core.state import RunState, empty, fold
from tachograph.stores import linked_runs


def row(run_id: str, text: str = "run start; run end") -> RunRow:
    """The row of a history."""
    state: RunState = empty(run_id)
    for event in history(text, run_id):
        fold(state, event)
    return row_of(state, over=True, effects=0, unknown_effects=0)


def linked(run_id: str, *others: str, parent: str | None = None) -> RunRow:
    """A row with links."""
    plain = row(run_id)
    fields = {name: getattr(plain, name) for name in RunRow.__slots__}
    return RunRow(**{**fields, "linked": others, "parent_run_id": parent})


def test_a_run_alone_is_its_own_fleet() -> None:
    """Without links nothing else is in it."""
    assert linked_runs([row("r1"), row("r2")], "r1") == ("r1",)


def test_links_count_both_ways_and_over_others() -> None:
    """A fork of a fork and a reconciler's run are one fleet; runs that are not there are left out."""
    rows = [linked("r1"), linked("r2", parent="r1"), linked("r3", "r2"), linked("r4", "gone"), row("r5")]
    for run_id in ("r1", "r2", "r3"):
        assert linked_runs(rows, run_id) == ("r1", "r2", "r3")
    assert linked_runs(rows, "r4") == ("r4",)


def test_a_runs_own_effects_link_nothing() -> None:
    """Only another run's effect does."""
    assert row("r1", "run start; a open; a effect mail(1) k1 RECEIPTED; a end; run end").linked == ()
