"""A spool names the objects of its events beside its segments, before the events, whoever put them."""

from __future__ import annotations

from pathlib import Path

from tachograph.stores import Home
from tachograph.stores._referred import BODIES_NAME, UNCLAIMED_MAX


def key(number: int) -> bytes:
    """A key like any other."""
    return number.to_bytes(32, "big")


def named(spool: Path) -> list[bytes]:
    """The keys in a spool's file."""
    data = (spool / BODIES_NAME).read_bytes()
    assert len(data) % 32 == 0
    return [data[start : start + 32] for start in range(0, len(data), 32)]


def home_at(path: Path) -> Home:
    """A new home."""
    return Home.open(path, create=True)


def test_keys_stand_there_before_their_events(tmp_path: Path) -> None:
    """Put before the spool was made, or after, or there from of old; each once."""
    home = home_at(tmp_path)
    home.objects.put(key(1), b"before")
    with home.new_spool() as spool:
        home.objects.put(key(2), b"after")
        home.objects.put(key(2), b"after")
        assert named(spool.path) == []
        spool.append([b"\0event"])
        assert named(spool.path) == [key(1), key(2)]
        home.objects.put(key(1), b"before")
        home.objects.put(key(3), b"third")
        spool.append([b"\0event"])
        assert named(spool.path) == [key(1), key(2), key(3)]
    with Home.open(tmp_path).new_spool() as later:
        later.append([b"\0event"])
        assert named(later.path) == []


def test_two_spools_of_a_home_both_name_a_key(tmp_path: Path) -> None:
    """Nobody can tell whose event will hold it: too many keys are harmless, too few are not."""
    home = home_at(tmp_path)
    with home.new_spool() as one, home.new_spool() as other:
        home.objects.put(key(1), b"data")
        for spool in (one, other):
            spool.append([b"\0event"])
            assert named(spool.path) == [key(1)]


def test_a_spool_that_cannot_know_has_no_file(tmp_path: Path) -> None:
    """Too many keys were put while there was no spool: better none than some."""
    home = home_at(tmp_path)
    for number in range(UNCLAIMED_MAX + 2):
        home.objects.notes.note(key(number))
    with home.new_spool() as spool:
        spool.append([b"\0event"])
        assert not (spool.path / BODIES_NAME).exists()
    with home.new_spool() as spool:
        spool.append([b"\0event"])
        assert named(spool.path) == []
