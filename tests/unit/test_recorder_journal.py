"""The queue and who drains it: bounds, order, fsyncs, what happens when the log breaks, and what is counted."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from recordings import check_run, named, payloads_of
from tachograph.core.boundary import Run, SyncAgent
from tachograph.producers import Recorder
from tachograph.stores import Home


def sets(agent: SyncAgent, count: int, size: int = 10) -> None:
    """So many events."""
    for number in range(count):
        agent.set_state(f"k{number}", "x" * size)


@pytest.mark.parametrize("bound", [{"queue_events_max": 4}, {"queue_bytes_max": 4096}])
def test_a_full_queue_makes_callers_wait_and_drops_nothing(tmp_path: Path, bound: dict[str, int]) -> None:
    """While the writer is held up callers block; once it goes on every event is there, and the wait is counted."""

    def floods(run: Run) -> None:
        with run.agent("a") as agent:
            sets(agent, 100, size=500)

    with Recorder(tmp_path / "home", **bound) as recorder:  # type: ignore[arg-type]  # one of the bounds
        drain = recorder._life.journal._drain
        with drain.lock:
            flooding = threading.Thread(target=recorder.record, args=(floods,))
            flooding.start()
            flooding.join(0.05)
            assert flooding.is_alive()
            assert recorder.statistics().queue_events <= 10
        flooding.join()
        assert recorder.statistics().blocked_us > 0
        assert recorder.statistics().queue_events_high >= 4
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    assert len(named(events, "StateChanged")) == 100


def test_events_become_durable_without_being_asked_for(tmp_path: Path) -> None:
    """The writer syncs within the interval when something is dirty, and not when nothing is."""
    with (
        Recorder(tmp_path / "home", fsync_interval_ms=20) as recorder,
        recorder.run("r") as run,
        run.agent("a") as agent,
    ):
        sets(agent, 3)
        waited = threading.Event()
        for _ in range(500):
            if recorder.statistics().fsyncs:
                break
            waited.wait(0.01)
        assert recorder.statistics().fsyncs == 1
        waited.wait(0.1)
        assert recorder.statistics().fsyncs == 1


def test_flush_makes_everything_durable(tmp_path: Path) -> None:
    """After it another reader sees every event, and the queue is empty."""
    with (
        Recorder(tmp_path / "home", fsync_interval_ms=60_000) as recorder,
        recorder.run("r") as run,
        run.agent("a") as agent,
    ):
        sets(agent, 300)
        recorder.flush()
        assert len(named(check_run(payloads_of(tmp_path / "home", run.id)), "StateChanged")) == 300
        assert recorder.statistics().queue_events == 0
        assert recorder.statistics().queue_bytes == 0


def test_a_closed_recorder_opens_a_new_log_when_it_records_again(tmp_path: Path) -> None:
    """Closing twice is as closing once; what comes after it lies in a spool of its own."""

    def one(run: Run) -> None:
        with run.agent("a") as agent:
            sets(agent, 1)

    recorder = Recorder(tmp_path / "home")
    recorder.close()
    assert Home.open(tmp_path / "home").log.spools() == []
    for _ in range(2):
        recorder.record(one)
        recorder.close()
        recorder.close()
    spools = Home.open(tmp_path / "home").log.spools()
    assert [spool.state.name for spool in spools] == ["CLOSED", "CLOSED"]
    assert len(list(recorder.home.log.run_ids())) == 2


def test_statistics_count_what_was_written(tmp_path: Path) -> None:
    """Events and bytes are those in the log."""
    with Recorder(tmp_path / "home") as recorder:
        with recorder.run("r") as run, run.agent("a") as agent:
            sets(agent, 10)
        payloads = payloads_of(recorder.home, run.id)
        statistics = recorder.statistics()
    assert statistics.events == len(payloads) == 14
    assert statistics.bytes == sum(map(len, payloads))
    assert (statistics.dropped, statistics.latest_error) == (0, None)


def test_big_payloads_go_to_the_object_store_once(tmp_path: Path) -> None:
    """A growing conversation is stored for what is new in it; what is read back is what was written."""
    conversation: list[dict[str, str]] = []

    def talks(run: Run) -> None:
        with run.agent("a") as agent:
            for turn in range(60):
                conversation.append(
                    {"role": "user", "content": f"{turn}: " + " ".join(str(turn * n) for n in range(200))}
                )
                agent.set_state("conversation", conversation)

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(talks)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
        sizes = [event.value.size for event in named(events, "StateChanged")]  # type: ignore[union-attr]  # StateChanged
        stored = sum(path.stat().st_size for path in (tmp_path / "home" / "objects").rglob("*") if path.is_file())
        inline = sum(size for size in sizes if size <= 16 * 1024)
    assert sizes[-1] > 50_000
    assert stored + inline < 2.5 * sizes[-1] + inline
    assert sum(sizes) > 10 * stored
