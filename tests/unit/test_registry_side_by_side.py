"""Calls are made side by side; what one of them raises is raised, and nothing begins behind it."""

from __future__ import annotations

import threading

import pytest

from tachograph.stores.registry._side_by_side import side_by_side


def test_calls_overlap_and_all_results_come() -> None:
    """As many at a time as were allowed: they wait for each other."""
    barrier = threading.Barrier(4, timeout=30)

    def work(number: int) -> int:
        barrier.wait()
        return number * 2

    assert sorted(side_by_side(work, range(8), 4)) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert list(side_by_side(work, [], 4)) == []


def test_an_exception_is_raised_and_stops_the_rest() -> None:
    """Others of which the threads had not begun are not called."""
    called: list[int] = []

    def work(number: int) -> int:
        called.append(number)
        if number == 2:
            raise ValueError(number)
        return number

    with pytest.raises(ValueError, match="2"):
        list(side_by_side(work, range(100), 1))
    assert called == [0, 1, 2]


def test_without_threads_the_caller_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter that is about to end starts none."""

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert list(side_by_side(abs, [-1, -2], 4)) == [1, 2]
