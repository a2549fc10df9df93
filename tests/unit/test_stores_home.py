"""A home: made once by whoever comes first, opened by all, and refused where it is none."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from chains import Chain, Clock, small_fleet
from tachograph.core.errors import CallerError, InvalidSetting, MissingBody, StoreUnavailable
from tachograph.stores import Home, LocalLog
from tachograph.stores.backend import Backend, S3Settings, Secret


def test_a_home_is_made_only_when_asked_for(tmp_path: Path) -> None:
    """Else the error names the path and what to do."""
    with pytest.raises(CallerError, match=r"nope.*is not a Tachograph home.*--home DIR") as caught:
        Home.open(tmp_path / "nope")
    assert caught.value.exit_code == 64
    assert not (tmp_path / "nope").exists()


def test_a_new_home_holds_what_the_architecture_says(tmp_path: Path) -> None:
    """Nothing more: the catalogue comes when it is asked."""
    home = Home.open(tmp_path / "a" / "home", create=True)
    assert sorted(entry.name for entry in home.path.iterdir()) == [
        "format.json",
        "incarnations",
        "keys",
        "log",
        "objects",
    ]
    assert json.loads((home.path / "format.json").read_bytes()) == {"format": "tachograph-home", "version": 1}


def test_the_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    """32 bytes, mode 0600, and it stays."""
    home = Home.open(tmp_path / "home", create=True)
    key = home.path / "keys" / "digest.key"
    assert len(key.read_bytes()) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    Home.open(tmp_path / "home", create=True)
    assert key.read_bytes() == before


def test_two_homes_have_two_keys(tmp_path: Path) -> None:
    """So that digests of one say nothing about the other."""
    one, two = (Home.open(tmp_path / name, create=True) for name in ("one", "two"))
    assert one.digester.digest(b"0171 234") != two.digester.digest(b"0171 234")


def _open_and_digest(path: Path, start: multiprocessing.synchronize.Event, out: multiprocessing.SimpleQueue) -> None:
    start.wait()
    home = Home.open(path, create=True)
    out.put((home.digester.digest(b"x"), home.claim_incarnation("run", "agent")))


def test_processes_that_make_one_home_at_once_agree(tmp_path: Path) -> None:
    """On the key; and no two claim the same life."""
    context = multiprocessing.get_context("fork")
    start, out = context.Event(), context.SimpleQueue()
    children = [context.Process(target=_open_and_digest, args=(tmp_path / "home", start, out)) for _ in range(8)]
    for child in children:
        child.start()
    start.set()
    answers = [out.get() for _ in children]
    for child in children:
        child.join()
    assert len({digest for digest, _ in answers}) == 1
    assert sorted(incarnation for _, incarnation in answers) == list(range(1, 9))


def test_a_home_whose_making_broke_off_is_made_whole(tmp_path: Path) -> None:
    """A crash between any two of its parts."""
    path = tmp_path / "home"
    (path / "keys").mkdir(parents=True)
    (path / "log").mkdir()
    with pytest.raises(CallerError, match="no format.json"):
        Home.open(path)
    assert list(Home.open(path, create=True).log.run_ids()) == []


def test_a_copy_without_its_empty_directories_is_completed(tmp_path: Path) -> None:
    """Version control and many archives leave them out."""
    home = Home.open(tmp_path / "home", create=True)
    for name in ("incarnations", "log", "objects"):
        (home.path / name).rmdir()
    home = Home.open(home.path, create=True)
    assert home.claim_incarnation("run", "agent") == 1
    home.new_spool().close()


def test_a_directory_with_other_things_does_not_become_a_home(tmp_path: Path) -> None:
    """A mistyped path must not scatter files over a project."""
    (tmp_path / "setup.py").write_text("")
    with pytest.raises(InvalidSetting, match=r"setup.py"):
        Home.open(tmp_path, create=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["setup.py"]


def test_a_home_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    """With both versions and what to do."""
    home = Home.open(tmp_path / "home", create=True)
    (home.path / "format.json").write_text('{"format": "tachograph-home", "version": 2}')
    with pytest.raises(CallerError, match="version 2, this release reads up to 1; use a newer one"):
        Home.open(home.path)


@pytest.mark.parametrize("text", ["", "[]", '"x"', "{}", '{"version": "1"}', "not json"])
def test_a_broken_format_file_is_refused(tmp_path: Path, text: str) -> None:
    """Never a traceback."""
    home = Home.open(tmp_path / "home", create=True)
    (home.path / "format.json").write_text(text)
    with pytest.raises(CallerError, match="is not a Tachograph home"):
        Home.open(home.path)


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """Whether to make a home there or not."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="Not a directory"):
        Home.open(tmp_path / "file")
    with pytest.raises(StoreUnavailable, match="File exists"):
        Home.open(tmp_path / "file", create=True)


@pytest.mark.parametrize("key", [None, b"", bytes(31)])
def test_a_lost_key_is_said_so(tmp_path: Path, key: bytes | None) -> None:
    """Making another would break every digest."""
    home = Home.open(tmp_path / "home", create=True)
    path = home.path / "keys" / "digest.key"
    path.unlink() if key is None else path.write_bytes(key)
    with pytest.raises(StoreUnavailable, match=r"digest.key.*restore it from a backup"):
        Home.open(home.path)


def test_a_home_takes_the_tenants_key(tmp_path: Path) -> None:
    """So that it works with and without the setting, and its runs are read by every other home of the tenant."""
    named = tmp_path / "tenant.key"
    named.write_bytes(bytes(range(32)))
    with_it = Home.open(tmp_path / "home", create=True, backend=Backend(digest_key_file=named))
    without = Home.open(with_it.path, backend=Backend())
    assert without.digester.digest(b"x") == with_it.digester.digest(b"x")
    assert stat.S_IMODE((with_it.path / "keys" / "digest.key").stat().st_mode) == 0o600


def test_a_home_under_another_key_is_refused(tmp_path: Path) -> None:
    """Else all that it recorded would look damaged; the message names both files."""
    named = tmp_path / "tenant.key"
    named.write_bytes(bytes(range(32)))
    home = Home.open(tmp_path / "home", create=True)
    with pytest.raises(CallerError, match=r"home' has a digest key of its own.*tenant\.key") as caught:
        Home.open(home.path, create=True, backend=Backend(digest_key_file=named))
    assert caught.value.exit_code == 64
    own = Home.open(home.path, backend=Backend(digest_key_file=home.path / "keys" / "digest.key"))
    assert own.digester.digest(b"x") == home.digester.digest(b"x")


def test_what_commands_keep_there_does_not_forbid_a_home(tmp_path: Path) -> None:
    """`tacho dev up` and `tacho process` may come before the first run."""
    for name in ("dev", "process"):
        (tmp_path / "home" / name).mkdir(parents=True)
    assert Home.open(tmp_path / "home", create=True).path == tmp_path / "home"
    (tmp_path / "src").mkdir()
    with pytest.raises(InvalidSetting, match="holds other things"):
        Home.open(tmp_path, create=True)


def test_lives_are_numbered_per_run_and_agent(tmp_path: Path) -> None:
    """1, 2, 3, … for each."""
    home = Home.open(tmp_path / "home", create=True)
    assert [home.claim_incarnation("run", "mail") for _ in range(3)] == [1, 2, 3]
    assert home.claim_incarnation("run", "desk") == 1
    assert home.claim_incarnation("ru", "nmail") == 1
    assert Home.open(home.path).claim_incarnation("run", "mail") == 4


@pytest.mark.parametrize("agent_id", ["../../../escape", "a/b", "", "x" * 5000, "\0", "ü\u202e"])
def test_no_id_leads_out_of_the_directory(tmp_path: Path, agent_id: str) -> None:
    """Nor is it too long for a file name."""
    home = Home.open(tmp_path / "home", create=True)
    assert home.claim_incarnation("run", agent_id) == 1
    assert len(list((home.path / "incarnations").iterdir())) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["home"]


def test_a_spool_of_a_home_makes_bodies_durable_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then its events."""
    home = Home.open(tmp_path / "home", create=True)
    order: list[str] = []
    with home.new_spool() as writer:
        home.objects.put(bytes(32), b"body")
        writer.append(small_fleet())
        fsync, fdatasync = os.fsync, os.fdatasync
        monkeypatch.setattr(os, "fsync", lambda descriptor: (order.append("body"), fsync(descriptor))[1])
        monkeypatch.setattr(os, "fdatasync", lambda descriptor: (order.append("events"), fdatasync(descriptor))[1])
        writer.sync()
        monkeypatch.undo()
    assert order == ["body", "body", "body", "events", "events"]  # the list of bodies, then the events


def test_bodies_are_read_and_checked(tmp_path: Path) -> None:
    """Inline and in chunks."""
    home = Home.open(tmp_path / "home", create=True)
    chain = Chain("run-1", "run", Clock(), digester=home.digester, objects=home.objects)
    small, large = chain.body("small"), chain.body("large " * 10_000)
    assert home.body(small, "e") == b'"small"'
    assert len(home.body(large, "e")) == 60_002
    home.objects.path_of(large.chunks[0]).unlink()
    with pytest.raises(MissingBody, match="of event e"):
        home.body(large, "e")


def test_a_home_and_a_bare_log_read_the_same(tmp_path: Path) -> None:
    """With the catalogue's index and without."""
    home = Home.open(tmp_path / "home", create=True)
    with home.new_spool() as writer:
        writer.append(small_fleet("run-1"))
        writer.append(small_fleet("run-2"))
        bare = LocalLog(home.path / "log")
        for run_id in ("run-1", "run-2"):
            assert list(home.log.read_run(run_id)) == list(bare.read_run(run_id))
        assert list(home.log.run_ids()) == list(bare.run_ids())


def test_a_new_home_on_a_shared_store_needs_the_shared_key(tmp_path: Path) -> None:
    """A key of its own would make bodies that no other home can check; a home that has one keeps it."""
    shared = Backend(s3=S3Settings("http://127.0.0.1:1", "bucket", "key", Secret("secret")))
    with pytest.raises(InvalidSetting, match="TACHO_DIGEST_KEY_FILE"):
        Home.open(tmp_path / "new", create=True, backend=shared)
    Home.open(tmp_path / "old", create=True, backend=Backend())
    assert Home.open(tmp_path / "old", create=True, backend=shared).archive is not None
