"""Threads of control logic that a busy machine found to take their steps in another order than the recorded one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from replaying import in_causal_order, replayed
from tachograph.core.boundary import Run, SyncAgent, tool
from tachograph.core.replay import DivergenceKind, VerdictStatus
from tachograph.producers import Recorder
from tachograph.replay_workers import _turns


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread counts as one that rests after 20 milliseconds."""
    monkeypatch.setattr(_turns, "_REST_SECONDS", 0.02)


@tool()
def asked(value: object) -> object:
    """A call, by what it is given."""
    return value


class Pair:
    """Two threads: what the second one sees follows from what the first one has done, past the boundary."""

    def __init__(self, before_first: Callable[[Pair], object], before_second: Callable[[Pair], object]) -> None:
        self.first_is_over = threading.Event()
        self.second_is_there = threading.Event()
        self._before_first = before_first
        self._before_second = before_second
        self._seen: list[object] = []

    def drive(self, run: Run) -> None:
        """The entry point's work."""
        with run.agent("first") as one, run.agent("second") as another:
            threads = [threading.Thread(target=self._first, args=(one,))]
            threads.append(threading.Thread(target=self._second, args=(another,)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _first(self, agent: SyncAgent) -> None:
        self._seen.append(agent.call(asked, self._before_first(self)))
        agent.call(asked, ["first saw", len(self._seen)])
        self.first_is_over.set()

    def _second(self, agent: SyncAgent) -> None:
        self._before_second(self)
        self.second_is_there.set()
        agent.call(asked, "second")
        agent.call(asked, ["second saw", len(self._seen)])


def one_after_the_other(run: Run) -> None:
    """As it is recorded."""
    Pair(lambda _: "first", lambda pair: pair.first_is_over.wait()).drive(run)


def recorded(home: Path) -> str:
    """The run's id."""
    with Recorder(home) as recorder:
        recorder.record(one_after_the_other)
        assert recorder.latest_run_id is not None
        return recorder.latest_run_id


def test_a_thread_waits_for_one_that_computes_as_long_as_it_does(tmp_path: Path) -> None:
    """On a slow machine it takes long; the other thread's step comes behind it all the same."""
    run_id = recorded(tmp_path / "home")

    def computes(_: Pair) -> str:
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass
        return "first"

    def changed(run: Run) -> None:
        Pair(computes, lambda _: None).drive(run)

    verdict, _ = replayed(tmp_path / "home", run_id, changed)
    assert verdict.status is VerdictStatus.REPRODUCED


def test_where_all_threads_wait_the_recordings_next_one_goes_on(tmp_path: Path) -> None:
    """Whichever came first: the divergence is the changed thread's, and the other one sees what it saw."""
    run_id = recorded(tmp_path / "home")

    def at_once(_: Pair) -> str:
        return "changed"

    def late(pair: Pair) -> str:
        pair.second_is_there.wait()
        return "changed"

    for before_first in (at_once, late):

        def changed(run: Run, before_first: Callable[[Pair], object] = before_first) -> None:
            Pair(before_first, lambda _: None).drive(run)

        _, attempt = replayed(tmp_path / "home", run_id, changed)
        found = [(one.kind, one.agent_id, one.step) for one in in_causal_order(attempt.result.divergences)]
        assert found == [(DivergenceKind.ARGUMENT_CHANGED, "first", 1)]
