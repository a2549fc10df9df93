"""A replay with raw values: control logic gets what it got, and the verdict no longer speaks of tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import tacho
from parsing_fleet import by_domain
from tachograph.core.ports import ReplayOptions, ReplayResult
from tachograph.core.replay import VerdictStatus
from tachograph.producers import Recorder
from tachograph.replay_workers import replay
from tachograph.stores import Home, TenantKeys

ADDRESSES = (
    "bob@example.org",
    "carol@example.net",
    "dave@mail.example",
    "erin@example.com",
    "frank@example.edu",
    "owner@example.co",
)


def recorded(home: Path, *, raw: bool | TenantKeys = True) -> str:
    """Record the fleet; returns the run."""
    with Recorder(home, raw=raw) as recorder:
        recorder.record(by_domain, "owner@example.co")
    assert recorder.latest_run_id is not None
    return recorder.latest_run_id


def replayed(home: Path, run_id: str, *, raw: bool, keys: Path | None = None) -> ReplayResult:
    """Replay it."""
    options = ReplayOptions(raw=raw, raw_keys=None if keys is None else str(keys))
    (result,) = replay(home, [run_id], options, 1, lambda *_: None)
    return result


def test_control_logic_that_parses_secrets_is_reproduced(tmp_path: Path) -> None:
    """With tokens it goes another way, and the verdict says what it was given; with the values it does as it did."""
    run_id = recorded(tmp_path / "home")
    tokens = replayed(tmp_path / "home", run_id, raw=False).verdict
    assert tokens.status is VerdictStatus.DIVERGED
    assert any("token in place of a value" in text for text in tokens.taints)
    values = replayed(tmp_path / "home", run_id, raw=True).verdict
    assert values.status is VerdictStatus.REPRODUCED, (values.first_divergence, values.missing)
    assert values.taints == ()


def test_nothing_raw_gets_into_verdict_or_home(tmp_path: Path) -> None:
    """Not even where it diverges: what control logic does is redacted before it is compared."""
    run_id = recorded(tmp_path / "home")
    before = {path: path.read_bytes() for path in (tmp_path / "home" / "log").rglob("*") if path.is_file()}
    code = tmp_path / "code"
    code.mkdir()
    changed = (Path(__file__).parent.parent / "parsing_fleet.py").read_text()
    (code / "parsing_fleet.py").write_text(changed.replace('"known")', 'f"{address} is new")'))
    command = (
        "--home",
        tmp_path / "home",
        "replay",
        run_id,
        "--code",
        code,
        "--raw",
        "--reason",
        "ticket 4711",
        "--json",
    )
    done = tacho(*command, "--report", tmp_path / "report")
    (run,) = done.result["runs"]
    assert run["verdict"]["status"] == "diverged"
    assert "[email:" in json.dumps(run["verdict"]["first_divergence"])
    written = "".join(path.read_text() for path in (tmp_path / "report").rglob("*") if path.is_file())
    for address in ADDRESSES:
        assert address not in done.out + done.err + written
    assert before == {path: path.read_bytes() for path in (tmp_path / "home" / "log").rglob("*") if path.is_file()}


def test_a_raw_replay_needs_a_reason_and_is_told_to_the_audit_log(tmp_path: Path) -> None:
    """As a look at one event is."""
    run_id = recorded(tmp_path / "home")
    assert tacho("--home", tmp_path / "home", "replay", run_id, "--raw").code == 64
    assert tacho("--home", tmp_path / "home", "replay", run_id, "--raw", "--reason", "why", "--by", "eve").code == 0
    (line,) = (tmp_path / "home" / "audit" / "raw.jsonl").read_text().splitlines()
    said = json.loads(line)
    assert (said["who"], said["event_id"], said["reason"], said["outcome"]) == ("eve", run_id, "why", "replayed")


def test_without_a_key_there_is_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2 and the reason; with the directory of the keys it is replayed."""
    run_id = recorded(tmp_path / "home", raw=TenantKeys(tmp_path / "vault"))
    done = tacho("--home", tmp_path / "home", "replay", run_id, "--raw", "--reason", "why", "--json")
    assert done.code == 2
    assert "cannot be read" in done.result["runs"][0]["error"]
    monkeypatch.setenv("TACHO_RAW_KEYS", str(tmp_path / "vault"))
    assert tacho("--home", tmp_path / "home", "replay", run_id, "--raw", "--reason", "why").code == 0


def test_a_body_that_does_not_open_stays_a_token(tmp_path: Path) -> None:
    """The rest is raw, and the verdict names what was not."""
    run_id = recorded(tmp_path / "home")
    home = Home.open(tmp_path / "home")
    (pack,) = home.raw.directory_of(run_id).glob("*.pack")
    data = bytearray(pack.read_bytes())
    data[120] ^= 1  # within the first box: the run's arguments
    pack.write_bytes(data)
    found = replayed(home.path, run_id, raw=True).verdict
    assert found.taints == ("control logic was given a token in place of a value in its arguments",)
