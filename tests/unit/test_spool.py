"""The writer of a spool: what it promises before, during and after failures."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chains import small_fleet
from segments import frames_of
from tachograph.core.errors import AgentMisuse, LimitExceeded, SpoolUnwritable, StoreUnavailable
from tachograph.stores import LocalLog, SpoolState, SpoolWriter

FLEET = small_fleet()


@pytest.fixture
def log(tmp_path: Path) -> LocalLog:
    """An empty log."""
    return LocalLog(tmp_path)


def _payloads(log: LocalLog, run_id: str = "run-1") -> list[bytes]:
    return [stored.payload for stored in log.read_run(run_id)]


@contextmanager
def _files_no_larger_than(size: int) -> Iterator[None]:
    """The kernel refuses writes beyond this, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_what_is_appended_can_be_read_before_it_is_synced(log: LocalLog) -> None:
    """By any process: the bytes are with the operating system."""
    with SpoolWriter(log.path) as writer:
        writer.append(FLEET[:3])
        assert _payloads(log) == FLEET[:3]
        writer.append(FLEET[3:])
        assert _payloads(log) == FLEET


def test_an_empty_batch_writes_nothing(log: LocalLog) -> None:
    """And needs no sync."""
    with SpoolWriter(log.path) as writer:
        writer.append([])
        writer.sync()
        assert writer.statistics().syncs == 0


def test_a_spool_appears_locked_and_whole(log: LocalLog) -> None:
    """A reader never sees one without its first segment."""
    with SpoolWriter(log.path) as writer:
        (spool,) = log.spools()
        assert (spool.name, spool.state, spool.numbers) == (writer.name, SpoolState.OPEN, (1,))


def test_a_closed_spool_is_told_from_an_abandoned_one(log: LocalLog) -> None:
    """By its last seal."""
    closed, abandoned = SpoolWriter(log.path), SpoolWriter(log.path)
    closed.close()
    abandoned.abandon()
    states = {spool.name: spool.state for spool in log.spools()}
    assert states == {closed.name: SpoolState.CLOSED, abandoned.name: SpoolState.ABANDONED}


def test_spools_sort_by_the_time_of_their_making_and_cannot_be_guessed(log: LocalLog) -> None:
    """Two of the same millisecond do not collide."""
    names = []
    for _ in range(50):
        with SpoolWriter(log.path) as writer:
            names.append(writer.name)
    assert len(set(names)) == 50
    assert [name.split("-")[0] for name in names] == sorted(name.split("-")[0] for name in names)
    assert all(len(name.split("-")[1]) == 16 for name in names)


def test_a_segment_is_closed_before_it_grows_too_large(log: LocalLog) -> None:
    """And the run is read over all of them."""
    with SpoolWriter(log.path, segment_bytes_max=1000) as writer:
        for payload in FLEET:
            writer.append([payload])
        sizes = [path.stat().st_size for path in sorted(writer.path.glob("*.seg"))]
    assert len(sizes) > 2
    assert all(size <= 1000 + 53 for size in sizes)
    assert _payloads(log) == FLEET


def test_a_payload_larger_than_a_segment_gets_one_of_its_own(log: LocalLog) -> None:
    """Limits of segments do not limit events."""
    with SpoolWriter(log.path, segment_bytes_max=100) as writer:
        writer.append(FLEET)
        writer.append([b"\0" * 5000])
    assert _payloads(log) == FLEET


def test_a_payload_beyond_the_limit_is_refused_before_anything_is_written(log: LocalLog) -> None:
    """The batch it is in, too."""
    with SpoolWriter(log.path) as writer:
        with pytest.raises(LimitExceeded, match="16777217"):
            writer.append([*FLEET, bytes(16 * 1024 * 1024 + 1)])
        assert writer.statistics().events == 0
        writer.append(FLEET)
    assert _payloads(log) == FLEET


def test_a_closed_writer_takes_nothing_more(log: LocalLog) -> None:
    """Closing twice is as closing once."""
    writer = SpoolWriter(log.path)
    writer.close()
    writer.close()
    with pytest.raises(AgentMisuse, match="closed"):
        writer.append(FLEET)
    with pytest.raises(AgentMisuse, match="closed"):
        writer.sync()


def test_the_batch_that_does_not_fit_is_taken_back_whole(log: LocalLog) -> None:
    """The log ends at the last whole frame before it, and goes on when there is room again."""
    with SpoolWriter(log.path) as writer:
        writer.append(FLEET[:5])
        size = (writer.path / "00000001.seg").stat().st_size
        with _files_no_larger_than(size + 100):
            with pytest.raises(SpoolUnwritable, match="File too large") as caught:
                writer.append(FLEET[5:])
            assert caught.value.path == str(writer.path)
            assert (writer.path / "00000001.seg").stat().st_size == size
            assert _payloads(log) == FLEET[:5]
        writer.append(FLEET[5:])
    assert _payloads(log) == FLEET
    assert log.spools()[0].state is SpoolState.CLOSED


def test_a_segment_that_cannot_be_sealed_is_sealed_later(log: LocalLog) -> None:
    """Disk full just when the next segment was to begin."""
    with SpoolWriter(log.path, segment_bytes_max=900) as writer:
        writer.append(FLEET[:4])
        size = (writer.path / "00000001.seg").stat().st_size
        with _files_no_larger_than(size + 10), pytest.raises(SpoolUnwritable):
            writer.append(FLEET[4:])
        writer.append(FLEET[4:])
    assert _payloads(log) == FLEET


def test_a_segment_that_cannot_be_begun_is_begun_later(log: LocalLog) -> None:
    """Disk full just behind the seal."""
    with SpoolWriter(log.path, segment_bytes_max=900) as writer:
        writer.append(FLEET[:4])
        obstacle = writer.path / "00000002.seg"
        obstacle.mkdir()
        for _ in range(2):
            with pytest.raises(SpoolUnwritable, match="File exists"):
                writer.append(FLEET[4:])
        obstacle.rmdir()
        writer.append(FLEET[4:])
    assert _payloads(log) == FLEET
    assert len(log.spools()[0].numbers) == 2


def test_after_a_failed_sync_nothing_more_is_appended(log: LocalLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may have dropped the pages: a second sync would succeed and lie."""
    calls = []

    def failing(descriptor: int) -> None:
        calls.append(descriptor)
        raise OSError(errno.EIO, "Input/output error")

    writer = SpoolWriter(log.path)
    writer.append(FLEET[:5])
    writer.sync()
    writer.append(FLEET[5:])
    monkeypatch.setattr(os, "fdatasync", failing)
    with pytest.raises(SpoolUnwritable, match="Input/output error"):
        writer.sync()
    monkeypatch.undo()
    for attempt in (lambda: writer.append(FLEET), writer.sync):
        with pytest.raises(SpoolUnwritable, match="earlier sync failed"):
            attempt()
    writer.close()
    assert len(calls) == 1
    assert log.spools()[0].state is SpoolState.ABANDONED


def test_bodies_that_cannot_be_made_durable_stop_the_events_that_name_them(log: LocalLog) -> None:
    """An event is durable only behind its bodies."""

    def failing() -> None:
        raise StoreUnavailable("objects", "no space left")

    writer = SpoolWriter(log.path, before_sync=failing)
    writer.append(FLEET)
    with pytest.raises(SpoolUnwritable, match="no space left"):
        writer.sync()
    with pytest.raises(SpoolUnwritable):
        writer.append(FLEET)


def test_bodies_are_made_durable_first(log: LocalLog) -> None:
    """Before each sync, and before the seal."""
    order: list[str] = []
    writer = SpoolWriter(log.path, before_sync=lambda: order.append("bodies"))
    writer.append(FLEET)
    writer.sync()
    writer.sync()
    assert (order, writer.statistics().syncs) == (["bodies"], 1)
    writer.close()
    assert order == ["bodies", "bodies"]


def test_a_log_directory_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    """Naming the path."""
    with pytest.raises(SpoolUnwritable, match="No such file"):
        SpoolWriter(tmp_path / "nope")


def _hold_until_told(told: multiprocessing.connection.Connection) -> None:
    told.send("here")
    told.recv()


def test_a_forked_child_does_not_keep_its_parents_spool_open(log: LocalLog) -> None:
    """Else a crash of the parent would look like life."""
    context = multiprocessing.get_context("fork")
    writer = SpoolWriter(log.path)
    writer.append(FLEET)
    ours, theirs = context.Pipe()
    child = context.Process(target=_hold_until_told, args=(theirs,))
    child.start()
    try:
        assert ours.recv() == "here"
        assert log.spools()[0].state is SpoolState.OPEN
        writer.abandon()
        assert log.spools()[0].state is SpoolState.ABANDONED
    finally:
        ours.send(None)
        child.join()
    assert child.exitcode == 0
    assert _payloads(log) == FLEET


def _append_in_child(writer: SpoolWriter, done: multiprocessing.connection.Connection) -> None:
    try:
        writer.append(FLEET)
    except AgentMisuse as error:
        done.send(str(error))


def test_a_forked_child_cannot_write_into_its_parents_spool(log: LocalLog) -> None:
    """Two writers would tear each other's frames."""
    context = multiprocessing.get_context("fork")
    with SpoolWriter(log.path) as writer:
        ours, theirs = context.Pipe()
        child = context.Process(target=_append_in_child, args=(writer, theirs))
        child.start()
        assert "closed" in ours.recv()
        child.join()
        writer.append(FLEET)
    assert _payloads(log) == FLEET


def test_statistics_count_what_was_done(log: LocalLog) -> None:
    """Events, bytes, segments and syncs."""
    with SpoolWriter(log.path, segment_bytes_max=1000) as writer:
        for payload in FLEET:
            writer.append([payload])
        writer.sync()
        statistics = writer.statistics()
    assert statistics.events == len(FLEET)
    assert statistics.segments == len(log.spools()[0].numbers)
    assert statistics.bytes >= sum(map(len, FLEET))


def test_a_seal_counts_the_events_of_its_segment(log: LocalLog) -> None:
    """And lies at the end of every closed segment."""
    with SpoolWriter(log.path, segment_bytes_max=1000) as writer:
        for payload in FLEET:
            writer.append([payload])
    counted = 0
    for path in sorted(writer.path.glob("*.seg")):
        *events, seal = frames_of(path.read_bytes())
        assert seal.payload[:5] == b"\x01SEAL"
        assert int.from_bytes(seal.payload[5:13], "little") == len(events)
        counted += len(events)
    assert counted == len(FLEET)
