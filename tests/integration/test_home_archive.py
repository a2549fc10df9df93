"""A home that reads from the archive: whatever works on a directory works on servers, by settings alone."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from archived import records_of
from cli import Done, tacho
from cli_fleet import record
from services import fresh_backend
from tachograph.control._exit import ExitCode
from tachograph.core.canonical import encode_body, make_body
from tachograph.core.errors import MissingBody, UnknownRun
from tachograph.stores import Home, verify_home
from tachograph.stores.archive import write_segment
from tachograph.stores.backend import Backend, S3Settings
from tachograph.stores.s3 import Bucket, S3Objects, S3Unreachable

FLEET = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Places:
    """The same runs in a directory, and in an archive that an empty home looks at."""

    near: Path
    far: Path
    backend: Backend
    run_ids: tuple[str, ...]

    @property
    def s3(self) -> S3Settings:
        assert self.backend.s3 is not None
        return self.backend.s3


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    """Two recorded runs, one with an UNKNOWN effect; shipped."""
    directory = tmp_path_factory.mktemp("homes")
    backend = fresh_backend(directory, "s3")
    assert backend.digest_key_file is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACHO_DIGEST_KEY_FILE", str(backend.digest_key_file))
        run_ids = asyncio.run(record(str(directory / "near"), "ann@example.org", "dropped"))
        _ship(Home.open(directory / "near"), backend)
        Home.open(directory / "far", create=True)
        yield Places(directory / "near", directory / "far", backend, tuple(run_ids))


def _ship(home: Home, backend: Backend, *, skip: int = 0) -> None:
    """What the shipper and the archive do, in short."""
    assert backend.s3 is not None
    bucket = Bucket(backend.s3)
    objects = S3Objects(bucket, "default")
    for key in home.objects.keys():  # noqa: SIM118 it is no mapping
        objects.put(key, home.objects.get(key) or b"")
    payloads = [stored.payload for run_id in home.log.run_ids() for stored in home.log.read_run(run_id)]
    records = records_of(payloads[skip:])
    for start in range(0, len(records), 20):
        write_segment(bucket, "default", "tacho.events", 0, records[start : start + 20])


@pytest.fixture
def servers(places: Places, monkeypatch: pytest.MonkeyPatch) -> Places:
    """The environment of somebody who works with servers."""
    for name, value in _environment(places.s3).items():
        monkeypatch.setenv(name, value)
    return places


def _environment(s3: S3Settings) -> dict[str, str]:
    return {
        "TACHO_S3_URL": s3.url,
        "TACHO_S3_BUCKET": s3.bucket,
        "TACHO_S3_ACCESS_KEY": s3.access_key,
        "TACHO_S3_SECRET_KEY": s3.secret_key.text,
    }


_LOOKS = [
    ("runs",),
    ("show", "RUN"),
    ("timeline", "RUN"),
    ("effects",),
    ("effects", "RUN"),
    ("diff", "RUN", "OTHER"),
    ("replay", "RUN", "--code", str(FLEET)),
    ("state", "RUN"),
]


def _do(home: Path, places: Places, *arguments: str) -> Done:
    names = {"OTHER": places.run_ids[0], "RUN": places.run_ids[1]}
    return tacho("--home", home, *(names.get(argument, argument) for argument in arguments), "--json")


@pytest.mark.parametrize("arguments", _LOOKS, ids=lambda arguments: "-".join(arguments[:2]))
def test_every_look_is_the_same(places: Places, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """In a directory, in the archive, and in both at once."""
    near = _do(places.near, places, *arguments)
    for name, value in _environment(places.s3).items():
        monkeypatch.setenv(name, value)
    for home in (places.far, places.near):
        done = _do(home, places, *arguments)
        assert (done.code, done.err) == (near.code, near.err)
        assert _plain(done, home) == _plain(near, places.near)


def _plain(done: Done, home: Path) -> object:
    """What was printed, without times that were measured and the home's own path."""
    text = json.dumps(json.loads(done.out), sort_keys=True).replace(str(home), "HOME")
    found = json.loads(text)
    return _without(found, {"wall_s", "seconds", "duration_s", "took_s", "elapsed_s"})


def _without(value: object, names: set[str]) -> object:
    if isinstance(value, dict):
        return {name: _without(part, names) for name, part in value.items() if name not in names}
    return [_without(part, names) for part in value] if isinstance(value, list) else value


def test_offsets_of_a_partition_are_a_cut(servers: Places) -> None:
    """Segments of the archive that end before an offset are inside; the state is that of a closed cut."""
    run_id = servers.run_ids[1]
    events = [
        tacho("--home", servers.far, "state", run_id, "--at", f"tacho.events/0:{offset}", "--json").result["cut"]
        for offset in (0, 20, 40, 10_000)
    ]
    assert all(cut["closed"] for cut in events)
    counts = [cut["events"] for cut in events]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, sum(1 for _ in Home.open(servers.far).log.read_run(run_id)))
    refused = tacho("--home", servers.far, "state", run_id, "--at", "tacho.events/9:5")
    assert "tacho.events/0" in refused.err


def test_what_is_archived_verifies(servers: Places) -> None:
    """Chains, causes, bodies."""
    report = verify_home(Home.open(servers.far))
    assert report.findings == ()
    assert report.runs == 2
    assert report.bodies > 0
    assert report.events == sum(1 for run_id in servers.run_ids for _ in Home.open(servers.far).log.read_run(run_id))
    assert verify_home(Home.open(servers.far), [servers.run_ids[0]]).runs == 1
    with pytest.raises(UnknownRun):
        verify_home(Home.open(servers.far), ["nothing"])


def test_an_archived_run_stands_alone_in_a_file(
    servers: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exported from the archive, imported into a home that knows no server."""
    file = tmp_path / "run.tacho"
    done = tacho("--home", servers.far, "export", servers.run_ids[1], "--to", file)
    assert done.code == 0, done.err
    for name in _environment(servers.s3):
        monkeypatch.delenv(name)
    Home.open(tmp_path / "home", create=True)
    done = tacho("--home", tmp_path / "home", "import", "bundle", file)
    assert done.code == 0, done.err
    assert Home.open(tmp_path / "home").log.run_ids() == [servers.run_ids[1]]


def test_an_archived_run_is_forked(servers: Places, tmp_path: Path) -> None:
    """The fork is recorded here; its parent stays where it is."""
    Home.open(tmp_path / "home", create=True)
    replace = ("--replace", "cli_fleet:desk=cli_fleet:other_desk", "--json")
    done = tacho("--home", tmp_path / "home", "fork", servers.run_ids[0], *replace)
    assert done.code in {ExitCode.OK, ExitCode.LIMITED}, done.err
    home = Home.open(tmp_path / "home")
    forked = done.result["run_id"]
    assert home.catalogue.run(forked).parent_run_id == servers.run_ids[0]
    assert home.log.run_ids() == [*servers.run_ids, forked]
    assert [row.run_id for row in home.catalogue.runs()] == [*servers.run_ids, forked]
    assert home.own_catalogue.run_ids() == [forked]


def test_an_archived_effect_is_decided_here(servers: Places, tmp_path: Path) -> None:
    """The decision is recorded here, and counts before it is shipped."""
    Home.open(tmp_path / "home", create=True)
    home = Home.open(tmp_path / "home")
    (unknown,) = [row for row in home.catalogue.effects() if row.state == "UNKNOWN"]
    done = tacho(
        "--home", tmp_path / "home", "reconcile", unknown.effect_id, "--as", "confirmed", "--reason", "receipt 7",
        "--by", "person:ann",
    )  # fmt: skip
    assert done.code == 0, done.err
    decided = Home.open(tmp_path / "home").catalogue
    assert decided.effect(unknown.effect_id).state == "RECONCILED"
    assert decided.state(unknown.effect_id) == "RECONCILED"
    assert decided.find(unknown.tenant, unknown.name, unknown.idempotency_key or "") is not None
    assert [row.state for row in decided.effects(unknown.run_id)] == ["RECONCILED"]
    # Its cause lies in the archive alone.
    verified = tacho("--home", tmp_path / "home", "verify", "--json")
    assert (verified.code, verified.result["findings"]) == (0, [])


def test_bodies_that_s3_lost_are_named(servers: Places, tmp_path: Path) -> None:
    """With the event that needs them."""
    Home.open(tmp_path / "home", create=True)
    home = Home.open(tmp_path / "home")
    body, chunks = make_body(encode_body("word " * 40_000), redacted=False, digester=home.digester)
    objects = S3Objects(Bucket(servers.s3), "default")
    for key, chunk in chunks:
        objects.put(key, chunk)
    Bucket(servers.s3).remove(objects.name_of(chunks[0][0]))
    with pytest.raises(MissingBody, match=r"run/a#1\.1"):
        home.body(body, "run/a#1.1")
    objects = S3Objects(Bucket(servers.s3), "default")
    objects.put(*chunks[0])
    assert home.body(body, "run/a#1.1") == encode_body("word " * 40_000)
    assert set(home.objects.directory.keys()) >= {key for key, _ in chunks}  # type: ignore[union-attr]


def test_without_the_archive_nothing_is_told_half(servers: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that lacks what cannot be reached would be taken for the whole."""
    monkeypatch.setenv("TACHO_S3_URL", "http://127.0.0.1:1")
    home = Home.open(servers.near)
    with pytest.raises(S3Unreachable, match=r"127\.0\.0\.1:1"):
        home.log.run_ids()
    done = tacho("--home", servers.near, "runs")
    assert done.code != 0
    assert "Connection refused" in done.err


def test_a_home_without_servers_loads_no_client(tmp_path: Path) -> None:
    """Nobody pays for what he does not use."""
    program = (
        "import sys; from tachograph.stores import Home; Home.open(sys.argv[1], create=True).catalogue.runs();"
        "print([name for name in ('minio', 'urllib3', 'redis', 'confluent_kafka') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "home")], capture_output=True, check=True)
    assert done.stdout == b"[]\n"
