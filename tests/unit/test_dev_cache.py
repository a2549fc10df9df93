"""What is fetched is kept whole or not at all, by one process at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.control.dev._cache import kept


def make(directory: Path) -> None:
    """Two files."""
    (directory / "libs").mkdir()
    (directory / "libs" / "one.jar").write_bytes(b"one")
    (directory / "two.jar").write_bytes(b"two")


def never(directory: Path) -> None:
    """What must not be called."""
    raise AssertionError(directory)


def names(cache: Path) -> set[str]:
    """What lies in the cache, locks left out."""
    return {path.name for path in cache.iterdir() if path.suffix != ".lock"}


def test_it_is_made_once(tmp_path: Path) -> None:
    """The second time it is there."""
    place = kept(tmp_path / "cache", "kafka-1", make)
    assert (place / "libs" / "one.jar").read_bytes() == b"one"
    assert kept(tmp_path / "cache", "kafka-1", never) == place
    assert names(tmp_path / "cache") == {"kafka-1"}


@pytest.mark.parametrize("damage", ["shorter", "missing", "more", "no manifest"])
def test_what_is_damaged_is_made_anew(tmp_path: Path, damage: str) -> None:
    """A file that is cut, lost or added, or a manifest that is gone."""
    place = kept(tmp_path, "kafka-1", make)
    file = place / "two.jar"
    match damage:
        case "shorter":
            file.write_bytes(b"t")
        case "missing":
            file.unlink()
        case "more":
            (place / "three.jar").touch()
        case _:
            (place / "files.json").unlink()
    assert kept(tmp_path, "kafka-1", make) == place
    assert file.read_bytes() == b"two"
    assert not (place / "three.jar").exists()
    assert names(tmp_path) == {"kafka-1"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, RuntimeError])
def test_an_interrupted_fetch_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    """Half of it is never found by the next one."""

    def broken(directory: Path) -> None:
        (directory / "half.jar").touch()
        raise error

    with pytest.raises(error):
        kept(tmp_path, "kafka-1", broken)
    assert names(tmp_path) == set()
    assert (kept(tmp_path, "kafka-1", make) / "two.jar").exists()


def test_a_failed_repair_keeps_what_was_there(tmp_path: Path) -> None:
    """Without a network, the damaged one stays for whoever wants to look at it."""
    place = kept(tmp_path, "kafka-1", make)
    (place / "two.jar").unlink()
    with pytest.raises(AssertionError):
        kept(tmp_path, "kafka-1", never)
    assert (place / "libs" / "one.jar").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from tachograph.control.dev._cache import kept
def make(directory):
    (directory / "half.jar").touch()
    os.kill(os.getpid(), signal.SIGKILL)
kept(Path(sys.argv[1]), "kafka-1", make)
"""


def test_what_a_killed_fetch_left_is_swept(tmp_path: Path) -> None:
    """After SIGKILL the half of it lies in a temporary place, which the next one removes."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert len(names(tmp_path)) == 1
    kept(tmp_path, "kafka-1", make)
    assert names(tmp_path) == {"kafka-1"}


TOGETHER = """
import sys
from pathlib import Path
from tachograph.control.dev._cache import kept
def make(directory):
    print("made", flush=True)
    (directory / "one.jar").write_bytes(b"one" * 100_000)
kept(Path(sys.argv[1]), "kafka-1", make)
"""


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """Of several that need it at once one makes it, and the others find it."""
    command = [sys.executable, "-c", TOGETHER, str(tmp_path)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    told = b"".join(run.communicate()[0] for run in runs)
    assert [run.returncode for run in runs] == [0] * 4
    assert told == b"made\n"
