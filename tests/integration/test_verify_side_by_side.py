"""Verification over several processes finds what one process finds."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from chains import small_fleet
from segments import recorded, segments_of
from tachograph.stores import Home, VerifyReport, verify_home
from tachograph.stores import _pieces as pieces


def _both(home: Home, monkeypatch: pytest.MonkeyPatch) -> tuple[VerifyReport, VerifyReport]:
    alone = verify_home(home)
    monkeypatch.setattr(pieces, "PARALLEL_BYTES_MIN", 0)
    monkeypatch.setattr(pieces, "_cores", lambda: 2)
    side_by_side = verify_home(home)
    monkeypatch.undo()
    return alone, side_by_side


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Several spools of several segments."""
    made = recorded(tmp_path / "home", segment_bytes_max=600)
    for number in range(2, 5):
        with made.new_spool(segment_bytes_max=600) as writer:
            for payload in small_fleet(f"run-{number}", digester=made.digester):
                writer.append([payload])
    return made


def test_a_whole_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and findings are the same."""
    alone, side_by_side = _both(home, monkeypatch)
    assert alone == side_by_side
    assert alone.findings == ()
    assert alone.segments > 8


def test_damaged_homes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the damage is."""
    for path in segments_of(home)[::3]:
        whole = path.read_bytes()
        for position in (10, len(whole) // 2, len(whole) - 20):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 2]) + whole[position + 1 :])
            alone, side_by_side = _both(home, monkeypatch)
            assert alone == side_by_side
            assert alone.damaged
        path.unlink()
        assert len(set(_both(home, monkeypatch))) == 1
        path.write_bytes(whole)


def test_a_worker_that_is_killed_is_replaced_by_patience(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """For want of memory, say: the rest is done alone."""
    mother = os.getpid()
    examine = pieces.examine

    def fatal(*arguments: object) -> object:
        if os.getpid() != mother:
            os._exit(9)
        return examine(*arguments)  # type: ignore[arg-type]  # passed through

    expected = verify_home(home)
    monkeypatch.setattr(pieces, "PARALLEL_BYTES_MIN", 0)
    monkeypatch.setattr(pieces, "_cores", lambda: 2)
    monkeypatch.setattr(pieces, "examine", fatal)
    assert verify_home(home) == expected


def test_a_process_with_threads_is_not_forked(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that another thread holds would be held for ever in the child."""
    monkeypatch.setattr(pieces, "PARALLEL_BYTES_MIN", 0)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert verify_home(home).findings == ()
    finally:
        done.set()
        thread.join()
