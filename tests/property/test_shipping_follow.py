"""A spool that is followed while it is written, in pieces of any size, gives each event once, in order, damage named."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.stores import SpoolWriter
from tachograph.stores.shipping import BEGINNING, Mark, Position, Shipment, SpoolFollower, Stuck, stuck_of

payloads = st.lists(
    st.lists(st.binary(min_size=1, max_size=300).map(lambda body: b"\0" + body), max_size=6), max_size=8
)


def followed(
    follower: SpoolFollower, position: Position, size: int
) -> tuple[list[bytes], Position, tuple[str, ...], bool]:
    """Everything that is there now."""
    read: list[bytes] = []
    unreadable: tuple[str, ...] = ()
    while True:
        batch = follower.read(position, size)
        read += batch.payloads
        unreadable += batch.unreadable
        position = batch.end
        if batch.is_last:
            return read, position, unreadable, batch.is_over


@settings(max_examples=60, deadline=None)
@given(payloads, st.integers(40, 700), st.integers(200, 900))
def test_what_is_appended_is_read_once(batches: list[list[bytes]], size: int, segment: int) -> None:
    """Through segments that are full, up to the seal; a position is all that has to be kept."""
    with tempfile.TemporaryDirectory() as directory:
        writer = SpoolWriter(Path(directory), segment_bytes_max=segment)
        read: list[bytes] = []
        position = BEGINNING
        for number, batch in enumerate(batches, 1):
            writer.append(batch)
            news, position, unreadable, over = followed(SpoolFollower(writer.path), position, size)
            assert (unreadable, over) == ((), False)
            read += news
            assert read == [payload for done in batches[:number] for payload in done]
        writer.close()
        news, position, unreadable, over = followed(SpoolFollower(writer.path), position, size)
        assert read + news == [payload for batch in batches for payload in batch]
        assert (unreadable, over) == ((), True)
        assert SpoolFollower(writer.path).backlog(position) == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.binary(min_size=20, max_size=100).map(lambda body: b"\0" + body), min_size=3, max_size=20), st.data()
)
def test_a_dead_spool_is_read_around_its_damage(events: list[bytes], data: st.DataObject) -> None:
    """One changed byte costs one event at most, and is named; a torn end is the end."""
    with tempfile.TemporaryDirectory() as directory:
        writer = SpoolWriter(Path(directory))
        writer.append(events)
        writer.abandon()
        segment = writer.path / "00000001.seg"
        stored = bytearray(segment.read_bytes())
        at = data.draw(st.integers(84, len(stored) - 1))
        stored[at] ^= 1 << data.draw(st.integers(0, 7))
        segment.write_bytes(stored)
        read, _, unreadable, over = followed(SpoolFollower(writer.path), BEGINNING, 4096)
        lost = [event for event in events if event not in read]
        assert over
        assert len(lost) <= 1 or unreadable
        assert unreadable or not lost or at > len(stored) - 120


def test_a_mark_is_kept_for_its_topic(tmp_path: Path) -> None:
    """For another topic nothing was shipped; a damaged mark is as none."""
    shipment = Shipment(tmp_path, "topic")
    assert shipment.open()
    mark = Mark(Position(3, 77, 123), 64, 10, is_done=True)
    shipment.save(mark)
    assert shipment.mark() == mark
    assert Shipment(tmp_path, "other").mark() == Mark()
    (tmp_path / "shipped.json").write_bytes(b"\0" * 9)
    assert shipment.mark() == Mark()


def test_what_is_stuck_is_named_once(tmp_path: Path) -> None:
    """By whoever ships the spool, whenever; an unfinished line is passed over."""
    stuck = Stuck("run/agent#1.2", "ab", "too large")
    for _ in range(2):
        shipment = Shipment(tmp_path, "topic")
        assert shipment.open()
        shipment.add_stuck(stuck)
        assert not shipment.add_stuck(stuck)
        shipment.close()
    with (tmp_path / "stuck.jsonl").open("ab") as file:
        file.write(b'{"what": "torn')
    assert stuck_of(tmp_path) == [stuck]
