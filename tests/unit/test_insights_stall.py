"""A partition that holds records and does not move is noticed, and no other."""

from __future__ import annotations

from tachograph.stores.kafka import TopicPartition
from tachograph.stream_processors.insights._stall import Stall

ONE, TWO = TopicPartition("findings", 0), TopicPartition("findings", 1)


def test_what_stands_still_is_named_after_its_time() -> None:
    """And not what moved meanwhile."""
    stall = Stall(10)
    assert stall.look({ONE: 5, TWO: 7}, 0) == []
    assert stall.look({ONE: 5, TWO: 8}, 9) == []
    assert stall.look({ONE: 5, TWO: 8}, 10) == [ONE]
    assert stall.look({ONE: 5, TWO: 8}, 19) == [ONE, TWO]


def test_what_has_nothing_to_read_stands_still_for_as_long_as_it_likes() -> None:
    """Its time begins with the first record."""
    stall = Stall(10)
    assert stall.look({ONE: 5}, 0) == []
    assert stall.look({}, 9) == []
    assert stall.look({ONE: 5}, 12) == []
    assert stall.look({ONE: 5}, 22) == [ONE]


def test_after_an_outage_it_begins_anew() -> None:
    """Nothing could move."""
    stall = Stall(10)
    assert stall.look({ONE: 5}, 0) == []
    stall.forget()
    assert stall.look({ONE: 5}, 11) == []
