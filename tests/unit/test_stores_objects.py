"""The object directory: whole or not there, written once, durable when it says so."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from tachograph.core.canonical import Digester
from tachograph.core.errors import StoreUnavailable
from tachograph.stores import DirectoryObjects

KEYS = [bytes([number]) * 32 for number in range(8)]


@pytest.fixture
def objects(tmp_path: Path) -> DirectoryObjects:
    """An empty store."""
    return DirectoryObjects(tmp_path)


def _failing(error: int) -> object:
    def fail(*arguments: object) -> None:
        raise OSError(error, os.strerror(error))

    return fail


def test_what_is_put_is_got(objects: DirectoryObjects) -> None:
    """Under its key in hex, cut after two digits."""
    objects.put(KEYS[1], b"body")
    assert objects.get(KEYS[1]) == b"body"
    assert objects.get(KEYS[2]) is None
    assert objects.path_of(KEYS[1]) == objects.path / "01" / ("01" * 31)


def test_keys_are_listed_sorted_and_nothing_else(objects: DirectoryObjects) -> None:
    """Whatever else lies in the directory."""
    for key in reversed(KEYS):
        objects.put(key, key)
    (objects.path / "00" / ".half-written").write_bytes(b"x")
    (objects.path / "notes").mkdir()
    (objects.path / "00" / "ABCDEF").write_bytes(b"x")
    assert list(objects.keys()) == KEYS


def test_an_object_is_written_once(objects: DirectoryObjects) -> None:
    """Putting it again costs no write, in this process or the next."""
    objects.put(KEYS[0], b"body")
    before = objects.path_of(KEYS[0]).stat().st_mtime_ns
    objects.put(KEYS[0], b"body")
    DirectoryObjects(objects.path).put(KEYS[0], b"body")
    assert objects.path_of(KEYS[0]).stat().st_mtime_ns == before


def test_an_object_that_a_power_failure_emptied_is_written_anew(objects: DirectoryObjects) -> None:
    """A rename can reach the disk before the bytes do."""
    path = objects.path_of(KEYS[0])
    path.parent.mkdir()
    path.touch()
    objects.put(KEYS[0], b"body")
    assert objects.get(KEYS[0]) == b"body"


@pytest.mark.parametrize("key", [b"", b"short", bytes(33), b"../../../etc/passwd"])
def test_a_key_that_is_none_is_refused(objects: DirectoryObjects, key: bytes) -> None:
    """Before a path is made of it."""
    with pytest.raises(StoreUnavailable, match="a key has 32 bytes"):
        objects.put(key, b"body")
    with pytest.raises(StoreUnavailable, match="a key has 32 bytes"):
        objects.get(key)


@pytest.mark.parametrize("call", ["write", "rename", "mkdir", "open"])
def test_a_failure_leaves_nothing_under_the_key(
    objects: DirectoryObjects, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Nor beside it; the next attempt succeeds."""
    monkeypatch.setattr(os, call, _failing(errno.ENOSPC))
    with pytest.raises(StoreUnavailable, match="No space left on device"):
        objects.put(KEYS[0], b"body")
    monkeypatch.undo()
    assert objects.get(KEYS[0]) is None
    assert not [path for path in objects.path.rglob("*") if path.is_file()]
    objects.put(KEYS[0], b"body")
    assert objects.get(KEYS[0]) == b"body"


def test_bytes_that_read_back_differently_are_not_stored(
    objects: DirectoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that lies is found before the event names the body."""
    monkeypatch.setattr(os, "write", lambda descriptor, data: len(data))
    with pytest.raises(StoreUnavailable, match="read back"):
        objects.put(KEYS[0], b"body")
    monkeypatch.undo()
    assert objects.get(KEYS[0]) is None


def test_after_a_failed_sync_the_bytes_are_written_anew(
    objects: DirectoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the kernel shows may not be on the disk."""
    objects.put(KEYS[0], b"body")
    monkeypatch.setattr(os, "fsync", _failing(errno.EIO))
    with pytest.raises(StoreUnavailable, match="Input/output error"):
        objects.sync()
    monkeypatch.undo()
    before = objects.path_of(KEYS[0]).stat().st_ino
    objects.put(KEYS[0], b"body")
    assert objects.path_of(KEYS[0]).stat().st_ino != before
    objects.sync()


def test_syncs_are_paid_once_for_all(objects: DirectoryObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects and their directories, then nothing until the next put."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    objects.put(KEYS[0], b"body")
    objects.put(KEYS[1], b"body")
    assert synced == []
    objects.sync()
    assert len(synced) == 5
    objects.sync()
    assert len(synced) == 5


def test_an_object_that_another_process_wrote_is_synced_too(
    objects: DirectoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may not have come to that yet."""
    objects.put(KEYS[0], b"body")
    other = DirectoryObjects(objects.path)
    other.put(KEYS[0], b"body")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    other.sync()
    assert len(synced) == 3


def test_a_durable_store_syncs_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it says that an object is stored."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    DirectoryObjects(tmp_path, durable=True).put(KEYS[0], b"body")
    assert len(synced) == 3


def test_threads_put_the_same_objects_at_once(objects: DirectoryObjects) -> None:
    """Everyone finds them whole."""
    digester = Digester(bytes(32))
    bodies = [str(number).encode() * 1000 for number in range(50)]

    def put_all() -> None:
        for body in bodies:
            objects.put(digester.digest(body), body)
            objects.sync()

    threads = [threading.Thread(target=put_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(objects.keys()) == sorted(digester.digest(body) for body in bodies)
    assert all(objects.get(digester.digest(body)) == body for body in bodies)


def test_an_object_that_cannot_be_read_is_not_taken_for_missing(objects: DirectoryObjects) -> None:
    """Its absence would be evidence; this is not."""
    objects.path_of(KEYS[0]).mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match="directory"):
        objects.get(KEYS[0])
