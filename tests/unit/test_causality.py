"""Clocks, ids, hashes and delivery: the cases that have a name."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from tachograph.core.causality import (
    GENESIS,
    EventId,
    HoldBack,
    HoldBackFull,
    HybridClock,
    check_id,
    event_hash,
    hlc_ms,
)
from tachograph.core.errors import InvalidIdentifier
from tachograph.core.testing import FixedClock

MS = 1_700_000_000_000


def test_an_hlc_is_milliseconds_and_a_counter() -> None:
    """Within a millisecond the counter goes on; a new millisecond starts it anew."""
    wall = FixedClock(MS * 1000)
    clock = HybridClock(wall.now_us)
    assert [clock.tick() - (MS << 16) for _ in range(3)] == [0, 1, 2]
    wall.advance(1000)
    assert clock.tick() == (MS + 1) << 16


def test_a_wall_clock_that_goes_back_does_not_take_the_hlc_with_it() -> None:
    """The counter goes on from where it was until the wall clock has caught up."""
    wall = FixedClock(MS * 1000)
    clock = HybridClock(wall.now_us)
    first = clock.tick()
    wall.advance(-3_600_000_000)
    assert [clock.tick(), clock.tick()] == [first + 1, first + 2]
    wall.advance(3_600_000_000 + 5000)
    assert hlc_ms(clock.tick()) == MS + 5


def test_a_counter_that_is_used_up_carries_over() -> None:
    """65,536 events within a millisecond go on in the next one, and the wall clock then catches up."""
    clock = HybridClock(FixedClock(MS * 1000).now_us)
    ticks = [clock.tick() for _ in range(65_537)]
    assert ticks == list(range(MS << 16, (MS << 16) + 65_537))
    assert hlc_ms(ticks[-1]) == MS + 1


def test_a_received_hlc_moves_the_clock_on() -> None:
    """The next event lies above the one it could know of."""
    clock = HybridClock(FixedClock(MS * 1000).now_us)
    remote = (MS + 59_000) << 16 | 7
    assert clock.observe(remote)
    assert clock.tick() == remote + 1
    assert clock.observe(1)
    assert clock.tick() == remote + 2


def test_a_remote_clock_too_far_ahead_is_not_adopted() -> None:
    """It is reported, and the local clock goes on as if nothing had been."""
    wall = FixedClock(MS * 1000)
    clock = HybridClock(wall.now_us, ahead_ms_max=1000)
    assert not clock.observe((MS + 1001) << 16)
    assert clock.tick() == MS << 16
    assert clock.observe((MS + 1000) << 16)


def test_adopted_clocks_cannot_be_dragged_ahead_step_by_step() -> None:
    """What counts is the distance from the wall clock, not from what was adopted before."""
    clock = HybridClock(FixedClock(MS * 1000).now_us, ahead_ms_max=1000)
    assert clock.observe((MS + 900) << 16)
    assert not clock.observe((MS + 1800) << 16)


def test_a_remote_clock_that_is_not_news_is_believed() -> None:
    """After the wall clock went back, peers that have kept the time are not flagged."""
    wall = FixedClock(MS * 1000)
    clock = HybridClock(wall.now_us, ahead_ms_max=1000)
    first = clock.tick()
    wall.advance(-3_600_000_000)
    assert clock.observe(first)
    assert clock.tick() == first + 1


def test_threads_never_get_the_same_hlc() -> None:
    """Ticks from many threads at once are all different."""
    clock = HybridClock(FixedClock(MS * 1000).now_us)
    with ThreadPoolExecutor(8) as pool:
        ticks = list(pool.map(lambda _: [clock.tick() for _ in range(500)], range(16)))
    flat = [tick for part in ticks for tick in part]
    assert len(set(flat)) == len(flat)


def test_the_hash_of_an_event_is_the_documented_one() -> None:
    """Whoever has the bytes can compute it with SHA-256 alone."""
    encoding = b"".join(
        [
            b"tachograph.event.v1\0",
            bytes(32),
            (1).to_bytes(4, "big"),
            b"c" * 32,
            (13).to_bytes(4, "big"),
            b"CallStarted/1",
            (7).to_bytes(8, "big"),
            b"content",
        ]
    )
    assert event_hash("CallStarted/1", b"content", GENESIS, [b"c" * 32]) == hashlib.sha256(encoding).digest()


def test_a_hash_depends_on_everything_it_is_made_over() -> None:
    """Type, content, predecessor, causes and their order; nothing slips from one part into the next."""
    one, two = b"1" * 32, b"2" * 32
    hashes = [
        event_hash("A/1", b"x", GENESIS, []),
        event_hash("A/2", b"x", GENESIS, []),
        event_hash("A/", b"1x", GENESIS, []),
        event_hash("A/1x", b"", GENESIS, []),
        event_hash("A/1", b"y", GENESIS, []),
        event_hash("A/1", b"x", one, []),
        event_hash("A/1", b"x", GENESIS, [one]),
        event_hash("A/1", b"x", GENESIS, [one, two]),
        event_hash("A/1", b"x", GENESIS, [two, one]),
        event_hash("A/1", b"x", GENESIS, [GENESIS]),
    ]
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize("previous", [b"", b"x" * 31, b"x" * 33])
def test_what_is_no_hash_is_refused(previous: bytes) -> None:
    """A hash has 32 bytes; anything else is a bug that must not be hashed away."""
    with pytest.raises(ValueError, match="32 bytes"):
        event_hash("A/1", b"", previous, [])
    with pytest.raises(ValueError, match="32 bytes"):
        event_hash("A/1", b"", GENESIS, [previous])


@pytest.mark.parametrize(
    "event_id",
    [
        EventId("run-1", "run", 1, 1),
        EventId("r", "team/triage/lookup", 3, 999_999),
        EventId("r.1", "user@example.org:2", 1, 12),
        EventId("r", "a-b_c.d", 1, 0),
    ],
)
def test_an_event_id_is_its_text(event_id: EventId) -> None:
    """Agent ids may hold '/', '@', ':', '.'; parsing gives back what was written."""
    assert EventId.parse(str(event_id)) == event_id


@pytest.mark.parametrize(
    "text",
    [
        *("", "r", "r/a", "r/a#1", "r/a#1.", "r/a#x.1", "r/a#1.1.1", "r/a#-1.1", "r/a#01.1", "r//a#1.1"),
        *("/a#1.1", "r/#1.1", "r/a b#1.1", "r/a#1.1\n", "r/a#1.\u0661", "../a#1.1", "r/../a#1.1"),
        "r/a#" + "9" * 30 + ".1",
    ],
)
def test_what_is_no_event_id_is_refused(text: str) -> None:
    """With the text and what was expected."""
    with pytest.raises(InvalidIdentifier) as caught:
        EventId.parse(text)
    assert repr(caught.value.value) in str(caught.value)


@pytest.mark.parametrize("value", ["a", "A.b_c-d:e@f", "x" * 200, "..a", "a.."])
def test_ids_that_can_be_used(value: str) -> None:
    """They come back, so that a check can stand in an expression."""
    assert check_id("run id", value) == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "it is empty"),
        ("x" * 201, "it has 201 characters"),
        (".", "would lead to another directory"),
        ("..", "would lead to another directory"),
        ("a/b", "it holds '/'"),
        ("a\\b", "it holds"),
        ("a\0b", "it holds"),
        ("a b", "it holds ' '"),
        ("a#b", "it holds '#'"),
        ("\u00e4", "it holds"),
        ("a\n", "it holds"),
    ],
)
def test_ids_that_cannot_be_used(value: str, reason: str) -> None:
    """No path tricks, no separators, no control characters; the reason and the remedy are in the message."""
    with pytest.raises(InvalidIdentifier, match="Use 1 to 200 letters") as caught:
        check_id("run id", value)
    assert reason in caught.value.reason


@pytest.mark.parametrize("value", ["a//b", "/a", "a/", "a/../b", "./a", "a/./b"])
def test_agent_ids_are_divided_but_lead_nowhere_else(value: str) -> None:
    """Only agent ids have parts, and no part is empty or a directory's name for another one."""
    assert check_id("agent id", "a/b/c") == "a/b/c"
    with pytest.raises(InvalidIdentifier):
        check_id("agent id", value)


def _key(agent: str, seq: int) -> EventId:
    return EventId("r", agent, 1, seq)


def test_events_wait_for_what_they_need() -> None:
    """For their stream's predecessor, and for their causes, one after the other."""
    buffer: HoldBack[str] = HoldBack(10)
    assert buffer.offer(_key("b", 2), [_key("a", 2)], "b2") == []
    assert buffer.offer(_key("a", 2), [], "a2") == []
    assert buffer.offer(_key("b", 1), [], "b1") == ["b1"]
    assert buffer.missing() == (_key("a", 1),)
    assert buffer.offer(_key("a", 1), [], "a1") == ["a1", "a2", "b2"]
    assert len(buffer) == 0


def test_duplicates_are_dropped() -> None:
    """Whether the first one waits or has been delivered."""
    buffer: HoldBack[str] = HoldBack(10)
    assert buffer.offer(_key("a", 2), [], "a2") == []
    assert buffer.offer(_key("a", 2), [], "again") == []
    assert buffer.offer(_key("a", 1), [], "a1") == ["a1", "a2"]
    assert buffer.offer(_key("a", 1), [], "again") == []
    assert buffer.offer(_key("a", 2), [], "again") == []


def test_a_full_buffer_says_what_is_missing() -> None:
    """It refuses the event it cannot hold, loses none, and goes on when the missing one arrives."""
    buffer: HoldBack[str] = HoldBack(2)
    buffer.offer(_key("a", 2), [], "a2")
    buffer.offer(_key("a", 3), [], "a3")
    with pytest.raises(HoldBackFull, match=r"2 events wait .* first missing: r/a#1\.1\."):
        buffer.offer(_key("a", 4), [], "a4")
    assert buffer.offer(_key("a", 1), [], "a1") == ["a1", "a2", "a3"]
    assert buffer.offer(_key("a", 4), [], "a4") == ["a4"]


def test_a_stream_can_be_taken_up_in_the_middle() -> None:
    """After a snapshot, its events need not be seen again."""
    buffer: HoldBack[str] = HoldBack(2)
    buffer.start_at(("r", "a", 1), 7)
    assert buffer.offer(_key("a", 7), [], "a7") == []
    assert buffer.offer(_key("b", 1), [_key("a", 8)], "b1") == []
    assert buffer.offer(_key("a", 8), [], "a8") == ["a8", "b1"]


def test_giving_up_hands_back_what_waits() -> None:
    """Every stream's in order; what comes later is delivered as if nothing had waited."""
    back: HoldBack[str] = HoldBack(8)
    for agent, seq in (("b", 3), ("a", 5), ("a", 4), ("b", 2)):
        assert back.offer(EventId("r", agent, 1, seq), (), f"{agent}{seq}") == []
    assert back.give_up() == ["a4", "a5", "b2", "b3"]
    assert (len(back), back.missing(), back.give_up()) == (0, (), [])
    assert back.offer(EventId("r", "a", 1, 1), (), "a1") == ["a1"]
