"""An exported run goes into another home that shares the digest key: whole, verified, once; else nothing is written."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from cli import tacho
from cli_fleet import record
from tachograph.control._exit import ExitCode
from tachograph.schemas import read_container, write_container


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A home with a run that has objects, one whose mail is UNKNOWN, and a fork of the first; all exported beside it."""
    home = tmp_path_factory.mktemp("bundle") / "home"
    run_ids = asyncio.run(record(str(home), "x" * 40_000, "dropped"))
    fork = tacho("--home", home, "fork", run_ids[0], "--replace", "cli_fleet:desk=cli_fleet:other_desk", "--json")
    run_ids.append(fork.result["run_id"])
    for number, run_id in enumerate(run_ids):
        done = tacho("--home", home, "export", run_id, "--to", home.parent / f"{number}.tacho")
        assert done.code == ExitCode.OK, done.err
    return home, run_ids


Source = tuple[Path, list[str]]


@pytest.fixture
def target(source: Source, tmp_path: Path) -> Path:
    """A directory that holds nothing but the key of the source."""
    shutil.copytree(source[0] / "keys", tmp_path / "home" / "keys")
    return tmp_path / "home"


def files_of(directory: Path) -> dict[str, bytes]:
    """What lies below a directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_exported_runs_are_the_same_elsewhere(source: Source, target: Path) -> None:
    """Same ids, same rows, same effects; whole by verification, and replayed as at home."""
    home, run_ids = source
    files = [home.parent / f"{number}.tacho" for number in range(3)]
    done = tacho("--home", target, "import", "bundle", *files, "--json")
    assert done.code == ExitCode.OK, done.err
    assert (done.result["run_ids"], done.result["skipped"]) == (run_ids, [])
    for command in (("runs",), ("effects",), ("show", run_ids[0]), ("timeline", run_ids[1])):
        assert tacho("--home", target, *command, "--json").result == tacho("--home", home, *command, "--json").result
    assert tacho("--home", target, "verify", "--json").result["findings"] == []
    assert tacho("--home", target, "rebuild", "--check").code == ExitCode.OK
    assert tacho("--home", target, "replay", *run_ids[:2]).code == ExitCode.OK


def test_what_is_there_is_said_and_skipped(source: Source, target: Path) -> None:
    """A second import of the same file writes nothing and names the run."""
    home, run_ids = source
    tacho("--home", target, "import", "bundle", home.parent / "0.tacho")
    before = files_of(target / "log")
    done = tacho("--home", target, "import", "bundle", home.parent / "0.tacho", "--json")
    assert done.code == ExitCode.LIMITED
    assert done.result["skipped"] == [f"0.tacho is here already, as run {run_ids[0]}."]
    assert files_of(target / "log") == before
    again = tacho("--home", target, "import", "bundle", home.parent / "0.tacho", "--again")
    assert again.code == ExitCode.USAGE


@pytest.mark.parametrize("has_home", [True, False])
def test_another_key_is_refused_with_the_remedy(source: Source, tmp_path: Path, has_home: bool) -> None:
    """Bodies cannot be checked without the key: nothing is written, and what to copy is said."""
    other = tmp_path / "other"
    if has_home:
        asyncio.run(record(str(other), "anna"))
        tacho("--home", other, "runs")
    before = files_of(other)
    done = tacho("--home", other, "import", "bundle", source[0].parent / "0.tacho")
    assert done.code == ExitCode.USAGE
    assert "Copy that home's `keys/digest.key`" in done.err
    assert {name: data for name, data in files_of(other).items() if "catalogue" not in name} == {
        name: data for name, data in before.items() if "catalogue" not in name
    }
    assert other.exists() == has_home


def damaged(source: Path, file: Path, how: str) -> Path:
    """The exported run with one thing changed."""
    with source.open("rb") as opened:
        container = read_container(opened)
        manifest, payloads, objects = dict(container.manifest), list(container.payloads), dict(container.objects)
    if how == "an event changed":
        payloads[5] = payloads[5][:-1] + bytes([payloads[5][-1] ^ 1])
    elif how == "an event removed":
        del payloads[5]
    elif how == "no events":
        payloads = []
    elif how == "an object removed":
        objects.popitem()
    elif how == "an object changed":
        objects[next(iter(objects))] = b"something else"
    elif how == "another run's id":
        manifest["run_id"] = "run-other"
    elif how == "another format":
        manifest["format"] = "somebody's/1"
    with file.open("wb") as opened:
        write_container(opened, payloads, manifest, objects.items())
    return file


@pytest.mark.parametrize(
    "how",
    [
        "an event changed", "an event removed", "no events", "an object removed", "an object changed",
        "another run's id", "another format",
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_and_leaves_nothing(source: Source, target: Path, tmp_path: Path, how: str) -> None:
    """Whatever was changed is found before anything is written: exit code 1 or 2, one message that names the file."""
    file = damaged(source[0].parent / "0.tacho", tmp_path / "bad.tacho", how)
    done = tacho("--home", target, "import", "bundle", file)
    assert done.code in (ExitCode.DIFFERENT, ExitCode.LIMITED), done
    assert done.err.count("\n") == 1
    assert not files_of(target / "log")
    assert not files_of(target / "objects")


@pytest.mark.parametrize(("data", "code"), [(None, 64), (b"", 1), (b"not a container", 1), ("half", 1)])
def test_a_file_that_is_none_is_refused(
    source: Source, target: Path, tmp_path: Path, data: bytes | str | None, code: int
) -> None:
    """Missing, empty, foreign or cut off: one message, nothing written."""
    file = tmp_path / "x.tacho"
    if data is not None:
        whole = (source[0].parent / "0.tacho").read_bytes()
        file.write_bytes(data if isinstance(data, bytes) else whole[: len(whole) // 2])
    done = tacho("--home", target, "import", "bundle", file)
    assert (done.code, done.err.count("\n")) == (code, 1), done
    assert not files_of(target / "log")
