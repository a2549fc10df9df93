"""What a replaying process imports ahead, and when the collector rests."""

from __future__ import annotations

import gc
import sys
import types
from pathlib import Path

import pytest

from tachograph.replay_workers._ahead import Ahead
from tachograph.replay_workers._collector import collector_paused

NAME = "tachograph.producers._sources"


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """One that has learned of a module from an attempt."""
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    found = Ahead()
    module = types.ModuleType(NAME)
    monkeypatch.setitem(sys.modules, NAME, module)
    monkeypatch.setitem(sys.modules, "control_logic", types.ModuleType("control_logic"))
    found.told()
    monkeypatch.delitem(sys.modules, NAME)
    assert found.learn()
    return found


def test_only_our_own_modules_are_imported_ahead(ahead: Ahead) -> None:
    """Control logic's modules are imported anew in every attempt; nothing is learned twice."""
    assert NAME in sys.modules
    assert ahead._names == [NAME]
    assert not ahead.learn()


def test_a_unit_brings_its_own_version(ahead: Ahead, tmp_path: Path) -> None:
    """What was imported ahead is forgotten where the unit's directories have a package of that name."""
    ahead.forget([str(tmp_path)])
    assert NAME in sys.modules
    (tmp_path / "tachograph").mkdir()
    ahead.forget([str(tmp_path)])
    assert NAME not in sys.modules


def test_the_collector_rests_until_the_last_has_left() -> None:
    """Runs may be read at once; afterwards the collector is as it was."""
    assert gc.isenabled()
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_made_meanwhile_is_left_to_a_collection_of_everything() -> None:
    """The first collection of young objects does not look through all that was read; what others froze stays frozen."""
    with collector_paused():
        made = [[number] for number in range(5000)]
    assert gc.get_freeze_count() == 0
    assert not any(one is made for one in gc.get_objects(generation=0))
    assert any(one is made for one in gc.get_objects(generation=2))
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collector_paused():
            pass
        assert gc.get_freeze_count() == frozen > 0
    finally:
        gc.unfreeze()
