"""Reading a log: open, closed, torn and damaged spools."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from chains import Chain, Clock, small_fleet
from segments import frames_of
from tachograph.core.errors import CorruptFrame, StoreUnavailable, UnknownRun, UnsupportedSchema
from tachograph.schemas import decode_meta
from tachograph.stores import LocalLog, SpoolWriter


@pytest.fixture
def log(tmp_path: Path) -> LocalLog:
    """An empty log."""
    return LocalLog(tmp_path)


def _payloads(log: LocalLog, run_id: str) -> list[bytes]:
    return [stored.payload for stored in log.read_run(run_id)]


def _interleaved(*runs: list[bytes]) -> list[bytes]:
    return [payload for group in zip(*runs, strict=True) for payload in group]


def test_an_empty_log_has_no_runs(log: LocalLog) -> None:
    """And says so for any."""
    assert list(log.run_ids()) == []
    with pytest.raises(UnknownRun, match="'run-1'"):
        log.read_run("run-1")


def test_an_unknown_run_is_refused_with_the_nearest(log: LocalLog) -> None:
    """A typing error is the usual reason."""
    with SpoolWriter(log.path) as writer:
        writer.append(small_fleet("refund-desk-17"))
    with pytest.raises(UnknownRun, match="refund-desk-17"):
        log.read_run("refund-desk-71")


def test_runs_are_listed_oldest_first(log: LocalLog) -> None:
    """By their first event, whichever spool it lies in."""
    late = small_fleet("late", clock=Clock(2_000_000_000_000))
    early = small_fleet("early", clock=Clock(1_000_000_000_000))
    with SpoolWriter(log.path) as one, SpoolWriter(log.path) as two:
        one.append(late)
        two.append(early)
    assert list(log.run_ids()) == ["early", "late"]


def test_one_run_is_read_from_among_its_neighbours(log: LocalLog) -> None:
    """In the order in which it was recorded, with the place of each event."""
    one, two = small_fleet("run-1"), small_fleet("run-2")
    with SpoolWriter(log.path, segment_bytes_max=1500) as writer:
        for payload in _interleaved(one, two):
            writer.append([payload])
    assert _payloads(log, "run-1") == one
    assert _payloads(log, "run-2") == two
    for stored in log.read_run("run-2"):
        frames = {frame.offset: frame.payload for frame in frames_of((log.path / stored.segment).read_bytes())}
        assert frames[stored.offset] == stored.payload


def test_a_run_over_several_processes_is_read_in_causal_order(log: LocalLog) -> None:
    """An event never comes before its cause."""
    clock = Clock()
    root = Chain("run-1", "run", clock)
    mail = Chain("run-1", "mail", clock)
    with SpoolWriter(log.path) as one, SpoolWriter(log.path) as two:
        for number in range(20):
            one.append([root.call_started(value=number) if number else root.run_started()])
            two.append([mail.call_started(value=number) if number else mail.agent_started(root.latest)])
    clocks = [decode_meta(payload).hlc for payload in _payloads(log, "run-1")]
    assert clocks == sorted(clocks)
    assert len(clocks) == 40


def test_a_torn_tail_is_cut_and_told_and_stays_as_it_is(log: LocalLog) -> None:
    """At every length that a write can break off at."""
    payloads = small_fleet()
    writer = SpoolWriter(log.path)
    writer.append(payloads)
    writer.abandon()
    path = writer.path / "00000001.seg"
    whole = path.read_bytes()
    last = frames_of(whole)[-1]
    for size in range(last.offset, len(whole)):
        path.write_bytes(whole[:size])
        fresh = LocalLog(log.path)
        assert _payloads(fresh, "run-1") == payloads[:-1]
        tails = [(tail.offset, tail.bytes) for tail in fresh.torn_tails()]
        assert tails == ([] if size == last.offset else [(last.offset, size - last.offset)])
        assert path.read_bytes() == whole[:size]


def test_a_write_under_way_is_not_torn(log: LocalLog) -> None:
    """Its frame is read when it is whole."""
    payloads = small_fleet()
    with SpoolWriter(log.path) as writer:
        writer.append(payloads)
        path = writer.path / "00000001.seg"
        whole = path.read_bytes()
        path.write_bytes(whole[:-10])
        assert _payloads(log, "run-1") == payloads[:-1]
        assert log.torn_tails() == []
        path.write_bytes(whole)
        assert _payloads(log, "run-1") == payloads


def test_damage_stops_the_run_it_is_in_and_no_other(log: LocalLog) -> None:
    """Named by file and byte."""
    one, two = small_fleet("run-1"), small_fleet("run-2")
    with SpoolWriter(log.path) as writer:
        writer.append([*one, *two])
    path = writer.path / "00000001.seg"
    whole = path.read_bytes()
    frame = frames_of(whole)[len(one) + 3]
    path.write_bytes(whole[: frame.offset + 60] + b"?" + whole[frame.offset + 61 :])
    assert _payloads(log, "run-1") == one
    with pytest.raises(CorruptFrame, match=f"00000001.seg is damaged at byte {frame.offset}"):
        _payloads(log, "run-2")


def test_a_damaged_length_stops_the_run_it_is_in_and_no_other(log: LocalLog) -> None:
    """The frames behind it are found again."""
    one, two = small_fleet("run-1"), small_fleet("run-2")
    with SpoolWriter(log.path) as writer:
        writer.append(_interleaved(one, two))
    path = writer.path / "00000001.seg"
    whole = path.read_bytes()
    frame = frames_of(whole)[10]
    path.write_bytes(whole[: frame.offset] + b"\xff\xff\xff\x7f" + whole[frame.offset + 4 :])
    with pytest.raises(CorruptFrame, match=f"at byte {frame.offset}"):
        _payloads(log, "run-1")
    assert _payloads(log, "run-2") == two


def test_damage_behind_which_no_frame_can_be_found_stops_every_run(log: LocalLog) -> None:
    """What lies there cannot be told apart; none of them is passed off as whole."""
    one, two = small_fleet("run-1"), small_fleet("run-2")
    with SpoolWriter(log.path) as writer:
        writer.append(_interleaved(one, two))
    path = writer.path / "00000001.seg"
    whole = path.read_bytes()
    frame = frames_of(whole)[10]
    path.write_bytes(whole[: frame.offset] + bytes([255]) * 100 + whole[frame.offset + 100 :])
    for run_id in ("run-1", "run-2"):
        with pytest.raises(CorruptFrame):
            _payloads(log, run_id)


def test_a_closed_segment_that_was_cut_off_is_not_passed_off_as_whole(log: LocalLog) -> None:
    """Although it ends at a whole frame."""
    payloads = small_fleet()
    with SpoolWriter(log.path) as writer:
        writer.append(payloads)
    path = writer.path / "00000001.seg"
    whole = path.read_bytes()
    path.write_bytes(whole[: frames_of(whole)[-3].offset])
    with pytest.raises(CorruptFrame):
        _payloads(log, "run-1")


@pytest.mark.parametrize("position", [0, 9, 20, 60])
def test_a_damaged_header_does_not_hide_the_events_behind_it(log: LocalLog, position: int) -> None:
    """Verification tells of it; the events vouch for themselves."""
    payloads = small_fleet()
    with SpoolWriter(log.path) as writer:
        writer.append(payloads)
    path = writer.path / "00000001.seg"
    whole = path.read_bytes()
    path.write_bytes(whole[:position] + b"?" + whole[position + 1 :])
    assert _payloads(log, "run-1") == payloads


def test_segments_in_each_others_place_are_not_read_as_if_they_were_not(log: LocalLog) -> None:
    """Their events would come in the wrong order."""
    with SpoolWriter(log.path, segment_bytes_max=1500) as writer:
        for payload in small_fleet():
            writer.append([payload])
    one, two = (writer.path / f"0000000{number}.seg" for number in (1, 2))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    with pytest.raises(CorruptFrame):
        _payloads(log, "run-1")


def test_many_runs_that_take_turns_are_read_with_few_calls(log: LocalLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one per event."""
    runs = [small_fleet(f"run-{number}", calls=20) for number in range(20)]
    with SpoolWriter(log.path) as writer:
        writer.append(_interleaved(*runs))
    log.run_ids()
    reads: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *arguments: (reads.append(1), pread(*arguments))[1])
    assert _payloads(log, "run-7") == runs[7]
    assert len(reads) < 20


def test_frames_that_are_no_events_belong_to_no_run(log: LocalLog) -> None:
    """They disturb none."""
    payloads = small_fleet()
    with SpoolWriter(log.path) as writer:
        writer.append([*payloads[:3], b"\x02garbage", *payloads[3:], b"\0"])
    assert list(log.run_ids()) == ["run-1"]
    assert _payloads(log, "run-1") == payloads


def test_events_of_types_unknown_here_are_read_all_the_same(log: LocalLog) -> None:
    """Whoever decodes them decides; every event starts alike."""
    payloads = small_fleet()
    strange = payloads[4][:1] + b"\x00\x7f\xff\xff" + payloads[4][5:]
    with SpoolWriter(log.path) as writer:
        writer.append([*payloads[:4], strange])
    assert _payloads(log, "run-1")[-1] == strange


def test_other_things_in_the_directory_are_left_alone(log: LocalLog) -> None:
    """Files, hidden directories of spools under way, files of other names within spools."""
    with SpoolWriter(log.path) as writer:
        writer.append(small_fleet())
        (writer.path / "notes.txt").write_text("mine")
        (log.path / ".unfinished").mkdir()
        (log.path / "readme").write_text("yours")
        assert list(log.run_ids()) == ["run-1"]


def test_a_directory_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    """Naming the path."""
    with pytest.raises(StoreUnavailable, match="nope"):
        LocalLog(tmp_path / "nope").run_ids()


def test_a_segment_of_a_newer_release_is_refused(log: LocalLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its version."""
    monkeypatch.setattr("tachograph.stores._frame.FORMAT_VERSION", 9)
    with SpoolWriter(log.path) as writer:
        writer.append(small_fleet())
    monkeypatch.undo()
    with pytest.raises(UnsupportedSchema, match="'segment' version 9"):
        log.run_ids()


def test_reading_while_another_thread_writes_gives_a_growing_prefix(log: LocalLog) -> None:
    """Never a torn, skipped or repeated event."""
    payloads = small_fleet(calls=200)
    writer = SpoolWriter(log.path, segment_bytes_max=20_000)

    def write() -> None:
        for payload in payloads:
            writer.append([payload])
        writer.close()

    thread = threading.Thread(target=write)
    writer.append([])
    thread.start()
    seen = 0
    while thread.is_alive():
        if "run-1" in log.run_ids():
            now = _payloads(log, "run-1")
            assert now == payloads[: len(now)]
            assert len(now) >= seen
            seen = len(now)
    thread.join()
    assert _payloads(log, "run-1") == payloads
