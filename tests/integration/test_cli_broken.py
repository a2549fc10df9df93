"""Homes that are not as they should be: one message with value and remedy, the right exit code, no traceback."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
from pathlib import Path

import pytest

from cli import Done, tacho
from cli_fleet import record
from tachograph.control._exit import ExitCode
from tachograph.schemas import read_container
from tachograph.stores import Home


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one run that has a body of its own in the object store."""
    home = tmp_path_factory.mktemp("broken") / "home"
    asyncio.run(record(str(home), "x" * 40_000))
    return home


@pytest.fixture
def home(original: Path, tmp_path: Path) -> Path:
    """A copy that may be broken."""
    shutil.copytree(original, tmp_path / "home")
    return tmp_path / "home"


def is_one_message(done: Done, code: ExitCode) -> bool:
    """One line on standard error, the right exit code, no traceback."""
    assert done.err.startswith("tacho: "), done
    assert done.err.count("\n") == 1, done.err
    return done.code == code and "Traceback" not in done.err


def objects(home: Path) -> list[Path]:
    """The files of the object store."""
    return [path for path in (home / "objects").rglob("*") if path.is_file()]


def test_a_missing_body_is_shown_as_missing(home: Path) -> None:
    """Looking goes on without a body and says so; exporting refuses with exit code 2 and names it."""
    for path in objects(home):
        path.unlink()
    assert "(body missing, " in tacho("--home", home, "timeline", "latest").out
    assert tacho("--home", home, "show", "latest").code == ExitCode.OK
    done = tacho("--home", home, "export", "latest", "--to", home.parent / "x.tacho")
    assert is_one_message(done, ExitCode.LIMITED)
    assert "backup" in done.err
    assert not list(home.parent.glob("*x.tacho*"))


def test_a_replay_without_a_body_is_limited(home: Path) -> None:
    """Evidence is missing: exit code 2 and the list, never "reproduced"."""
    for path in objects(home):
        path.unlink()
    done = tacho("--home", home, "replay", "latest", "--json")
    assert done.code == ExitCode.LIMITED
    (run,) = done.result["runs"]
    assert run["verdict"]["status"] == "limited"
    assert run["verdict"]["missing"] or run["error"]
    assert run["name"] == "desk"
    text = tacho("--home", home, "replay", "latest").out
    assert text.startswith("LIMITED  desk  run-")
    assert "no step was replayed" in text


def test_verify_names_a_missing_and_a_changed_body(home: Path) -> None:
    """Damage in the object store is found, too."""
    first, *rest = objects(home)
    first.unlink()
    done = tacho("--home", home, "verify", "--json")
    assert done.code == ExitCode.DIFFERENT
    assert {finding["kind"] for finding in done.result["findings"]} == {"BODY_MISSING"}
    for path in rest:
        path.chmod(0o644)
        path.write_bytes(b"changed")
        done = tacho("--home", home, "verify", "--json")
        assert "BODY_CHANGED" in {finding["kind"] for finding in done.result["findings"]}


def test_exported_bodies_travel_along(home: Path, tmp_path: Path) -> None:
    """The objects that events name are in the exported file, byte for byte."""
    target = tmp_path / "x.tacho"
    done = tacho("--home", home, "export", "latest", "--to", target, "--json")
    with target.open("rb") as file:
        container = read_container(file)
        assert len(list(container.payloads)) == done.result["events"]
        carried = dict(container.objects)
    store = Home.open(home).objects
    assert carried == {key: store.get(key) for key in set(store.keys())}
    assert done.result["objects"] == len(carried) > 0


def test_a_file_that_cannot_be_written_is_said(home: Path, tmp_path: Path) -> None:
    """No such directory: exit code 70, the file, and nothing left behind."""
    done = tacho("--home", home, "export", "latest", "--to", tmp_path / "no" / "x.tacho")
    assert is_one_message(done, ExitCode.INTERNAL)
    assert "x.tacho" in done.err


def test_a_broken_catalogue_is_made_anew(home: Path) -> None:
    """The catalogue is derived: of a broken one it is said how it is made anew from the log, and then it tells the same."""
    before = tacho("--home", home, "runs", "--json").result
    gc.collect()  # a connection of this process that is still open would write its pages back
    for extra in home.glob("catalogue.db-*"):
        extra.unlink()
    (home / "catalogue.db").write_bytes(b"this is no database" * 1000)
    assert "`tacho rebuild`" in tacho("--home", home, "runs").err
    assert tacho("--home", home, "rebuild").code == ExitCode.OK
    assert tacho("--home", home, "runs", "--json").result == before
    assert tacho("--home", home, "rebuild", "--check").code == ExitCode.OK


def test_a_newer_home_is_refused(home: Path) -> None:
    """A home that a newer release made: what to do, and nothing is touched."""
    made = json.loads((home / "format.json").read_text())
    (home / "format.json").write_text(json.dumps({**made, "version": 99}))
    done = tacho("--home", home, "runs")
    assert is_one_message(done, ExitCode.USAGE)
    assert "99" in done.err
    assert "newer" in done.err


@pytest.mark.parametrize("known", [True, False])
def test_a_damaged_log_does_not_hide_what_is_whole(home: Path, known: bool) -> None:
    """A damaged frame: verification names it, and looking at the run says that it is not whole.

    Whether the catalogue knew the run before it was damaged makes no difference.
    """
    if known:
        tacho("--home", home, "runs")
    else:
        (home / "catalogue.db").unlink(missing_ok=True)
    (segment,) = (home / "log").rglob("*.seg")
    data = bytearray(segment.read_bytes())
    data[200] ^= 255
    segment.write_bytes(data)
    done = tacho("--home", home, "verify", "--json")
    assert done.code == ExitCode.DIFFERENT
    assert done.result["findings"][0]["offset"] <= 200
    looked = tacho("--home", home, "timeline", "latest")
    assert looked.code == ExitCode.OK
    assert "not whole" in looked.out
    assert tacho("--home", home, "show", "latest", "--json").result["replayability"]["grade"] != "COMPLETE"


def test_imports_of_bad_files_are_refused(tmp_path: Path) -> None:
    """A file that is not there, or is not what it should be: named, with what to give instead."""
    (tmp_path / "bad.json").write_text("{")
    for name in ("bad.json", "none.json"):
        done = tacho("--home", tmp_path / "home", "import", "airline", tmp_path / name)
        assert done.code in (ExitCode.USAGE, ExitCode.LIMITED)
        assert name in done.out + done.err
