"""`tacho show EVENT`: everything an event says; with `--raw` what redaction took out, for a reason that is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli import tacho
from raw_fleet import ADDRESS, PASSWORD, desk
from recordings import events_of, named
from tachograph.core.boundary import Run
from tachograph.producers import Recorder
from tachograph.stores import Home, TenantKeys

REASON = "ticket 4711"


def recorded(home: Path, *, raw: bool | TenantKeys = True) -> str:
    """Record the fleet; returns the event that starts its run."""
    with Recorder(home, raw=raw) as recorder:
        recorder.record(desk, {"user": "alice", "password": PASSWORD})
    return f"{recorder.latest_run_id}/run#1.1"


def audit(home: Path) -> list[dict[str, object]]:
    """What the home's audit log says."""
    path = home / "audit" / "raw.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_an_event_is_shown_redacted(tmp_path: Path) -> None:
    """With all its fields; the run may be named as everywhere."""
    event_id = recorded(tmp_path / "home")
    shown = tacho("--home", tmp_path / "home", "show", "latest/run#1.1")
    assert shown.code == 0
    assert event_id in shown.out
    assert "RunStarted" in shown.out
    assert "[secret:" in shown.out
    assert PASSWORD not in shown.out
    document = tacho("--home", tmp_path / "home", "show", event_id, "--json").result
    assert (document["event_id"], document["type"], document["raw"], document["trace"]) == (
        event_id,
        "RunStarted",
        False,
        None,
    )
    assert document["fields"]["arguments"]["redacted"] is True
    assert document["fields"]["arguments"]["value"]["args"][0]["user"] == "alice"
    assert audit(tmp_path / "home") == []


def test_every_event_of_a_run_can_be_shown(tmp_path: Path) -> None:
    """Whatever its type, as text and as JSON, and raw."""
    recorded(tmp_path / "home")
    home = Home.open(tmp_path / "home")
    (run_id,) = home.log.run_ids()
    for event in events_of(home, run_id):
        event_id = f"{run_id}/{event.meta.agent_id}#{event.meta.incarnation}.{event.meta.seq}"
        assert tacho("--home", home.path, "show", event_id).code == 0
        document = tacho("--home", home.path, "show", event_id, "--json", "--raw", "--reason", REASON).result
        assert document["type"] == type(event).__name__
        assert "[email:" not in json.dumps([value for value in document["fields"].values() if _is_body(value)])


def _is_body(value: object) -> bool:
    return isinstance(value, dict) and "digest" in value


def test_raw_is_shown_for_a_reason_that_is_kept(tmp_path: Path) -> None:
    """Who, when and why stand in the audit log, a line for each look."""
    event_id = recorded(tmp_path / "home")
    shown = tacho("--home", tmp_path / "home", "show", event_id, "--raw", "--reason", REASON, "--by", "eve")
    assert shown.code == 0
    assert PASSWORD in shown.out
    again = tacho("--home", tmp_path / "home", "show", event_id, "--raw", "--reason", f"{ADDRESS} asked", "--json")
    assert again.result["fields"]["arguments"]["value"]["args"][0]["password"] == PASSWORD
    first, second = audit(tmp_path / "home")
    assert (first["who"], first["event_id"], first["reason"], first["outcome"]) == ("eve", event_id, REASON, "shown")
    assert isinstance(first["at_us"], int)
    assert ADDRESS not in str(second["reason"]), "what is typed as a reason is redacted, too"
    assert (tmp_path / "home" / "audit" / "raw.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "arguments",
    [("--raw",), ("--raw", "--reason", " "), ("--reason", REASON)],
    ids=["no reason", "empty reason", "a reason for nothing"],
)
def test_raw_and_reason_belong_together(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """One without the other is a mistake, for an event and for a run."""
    event_id = recorded(tmp_path / "home")
    for what in (event_id, "latest"):
        done = tacho("--home", tmp_path / "home", "show", what, *arguments)
        assert (done.code, done.out) == (64, "")
        assert PASSWORD not in done.err
    assert audit(tmp_path / "home") == []


def test_raw_is_for_events(tmp_path: Path) -> None:
    """A run as a whole is never shown raw."""
    recorded(tmp_path / "home")
    done = tacho("--home", tmp_path / "home", "show", "latest", "--raw", "--reason", REASON)
    assert done.code == 64
    assert "one event" in done.err


def test_who_has_no_key_is_refused_and_told_to_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2 with the reason; with the key's directory it works."""
    event_id = recorded(tmp_path / "home", raw=TenantKeys(tmp_path / "vault"))
    refused = tacho("--home", tmp_path / "home", "show", event_id, "--raw", "--reason", REASON)
    assert (refused.code, refused.out) == (2, "")
    assert "cannot be opened" in refused.err
    monkeypatch.setenv("TACHO_RAW_KEYS", str(tmp_path / "vault"))
    assert PASSWORD in tacho("--home", tmp_path / "home", "show", event_id, "--raw", "--reason", REASON).out
    outcomes = [str(line["outcome"]).split(":")[0] for line in audit(tmp_path / "home")]
    assert outcomes == ["refused", "shown"]


def test_what_was_shredded_or_never_kept_is_refused(tmp_path: Path) -> None:
    """Each says which of the two it is."""
    event_id = recorded(tmp_path / "home")
    Home.open(tmp_path / "home").raw.shred(event_id.partition("/")[0])
    shredded = tacho("--home", tmp_path / "home", "show", event_id, "--raw", "--reason", REASON)
    assert (shredded.code, shredded.out) == (2, "")
    assert "shredded" in shredded.err
    without = tacho(
        "--home", tmp_path / "other", "show", recorded(tmp_path / "other", raw=False), "--raw", "--reason", REASON
    )
    assert without.code == 2
    assert "has no key: it was recorded without raw bodies (`Recorder(raw=True)` keeps them)" in without.err
    assert "tenant" not in without.err
    verified = tacho("--home", tmp_path / "home", "verify")
    assert verified.code == 0
    assert "RAW_UNCHECKED" in verified.out


def test_nothing_is_shown_where_the_log_cannot_be_written(tmp_path: Path) -> None:
    """First the audit log, then the screen."""
    event_id = recorded(tmp_path / "home")
    (tmp_path / "home" / "audit").write_text("in the way")
    done = tacho("--home", tmp_path / "home", "show", event_id, "--raw", "--reason", REASON)
    assert (done.code, done.out) == (70, "")


def test_raw_text_cannot_steer_a_terminal(tmp_path: Path) -> None:
    """It is as foreign as any other payload."""

    def control(run: Run) -> None:
        with run.agent("a") as agent:
            agent.set_state("note", f"\x1b[2J\u202e{ADDRESS}")

    with Recorder(tmp_path / "home", raw=True) as recorder:
        recorder.record(control)
    (event,) = named(events_of(tmp_path / "home", recorder.latest_run_id), "StateChanged")
    shown = tacho("--home", tmp_path / "home", "show", f"latest/a#1.{event.meta.seq}", "--raw", "--reason", REASON)
    assert ADDRESS in shown.out
    assert "\x1b" not in shown.out
    assert "\u202e" not in shown.out


@pytest.mark.parametrize("event", ["latest/run#1.99", "latest/nobody#1.1"])
def test_an_event_that_is_not_there_is_named(tmp_path: Path, event: str) -> None:
    """And so is what is no event at all."""
    recorded(tmp_path / "home")
    done = tacho("--home", tmp_path / "home", "show", event)
    assert done.code == 64
    assert event in done.err
    assert tacho("--home", tmp_path / "home", "show", "latest/run").code == 64


def test_without_the_package_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    """The home is fine; what is missing is here."""
    event_id = recorded(tmp_path / "home")
    code = f"""
import sys
sys.modules["cryptography"] = None
from tachograph.control import main
sys.exit(main(["--home", {str(tmp_path / "home")!r}, "show", {event_id!r}, "--raw", "--reason", "why"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert "pip install 'tachograph[raw]'" in done.stderr
