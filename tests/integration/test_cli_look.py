"""Looking at a recorded home: runs, show, timeline, effects, and naming runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli import tacho
from cli_fleet import record
from tachograph.control._exit import ExitCode


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A home with a run that went well and one whose mail is UNKNOWN."""
    home = tmp_path_factory.mktemp("look") / "home"
    return home, asyncio.run(record(str(home), "anna", "dropped"))


Recorded = tuple[Path, list[str]]


def test_runs_lists_what_is_there(recorded: Recorded) -> None:
    """Every run with its status, counts, UNKNOWN effects and signatures, as a table and as JSON."""
    home, run_ids = recorded
    shown = tacho("--home", home, "runs", "--json").result["runs"]
    assert [run["run_id"] for run in shown] == run_ids
    assert [run["unknown_effects"] for run in shown] == [0, 1]
    assert all((run["name"], run["status"], run["agents"]) == ("desk", "FINISHED", 2) for run in shown)
    text = tacho("--home", home, "runs").out
    assert run_ids[0][:12] in text
    assert "FINISHED" in text


def test_runs_are_chosen(recorded: Recorded) -> None:
    """By name, status, signature and count."""
    home, run_ids = recorded

    def chosen(*options: str) -> list[str]:
        return [run["run_id"] for run in tacho("--home", home, "runs", "--json", *options).result["runs"]]

    assert chosen("--name", "desk") == run_ids
    assert chosen("--name", "other") == []
    assert chosen("--status", "RUNNING") == []
    assert chosen("--limit", "1") == run_ids[1:]
    assert chosen("--signature", "SIDE_EFFECT_UNKNOWN") == run_ids[1:]


def test_show_tells_one_run(recorded: Recorded) -> None:
    """Agents with roles, effects with states, signatures with sentences, and what can be replayed."""
    home, run_ids = recorded
    shown = tacho("--home", home, "show", run_ids[1], "--json").result
    assert {agent["agent"]: agent["role"] for agent in shown["agents"]} == {
        "run": "", "triage": "decides", "mailer": "sends mail",
    }  # fmt: skip
    assert [(effect["name"], effect["state"]) for effect in shown["effects"]] == [("send_mail", "UNKNOWN")]
    assert [hit["name"] for hit in shown["signatures"]] == ["SIDE_EFFECT_UNKNOWN"]
    assert shown["replayability"]["grade"] == "COMPLETE"
    text = tacho("--home", home, "show", run_ids[1]).out
    assert "sends mail" in text
    assert "SIDE_EFFECT_UNKNOWN" in text


@pytest.mark.parametrize("command", ["show", "timeline"])
def test_hostile_payloads_stay_data(recorded: Recorded, command: str) -> None:
    """The recorded text clears no screen and turns no line around."""
    home, run_ids = recorded
    for options in ([], ["--json"]):
        out = tacho("--home", home, command, run_ids[0], *options).out
        assert out.replace("\n", "").isprintable()


def test_timeline_shows_calls_messages_and_the_unknown_effect(recorded: Recorded) -> None:
    """The diagram has each agent's calls, the message between them, and the effect in doubt; reads on request."""
    home, run_ids = recorded
    text = tacho("--home", home, "timeline", run_ids[1]).out
    assert "tool look_up('T-1')" in text or 'tool look_up("T-1")' in text
    assert "sends to mailer" in text
    assert "receives from triage" in text
    assert "UNKNOWN ConnectionResetError" in text
    assert "clock" not in text.splitlines()[3]
    some = tacho("--home", home, "timeline", run_ids[1], "--json").result
    every = tacho("--home", home, "timeline", run_ids[1], "--json", "--reads").result
    assert len(every["rows"]) == len(some["rows"]) + some["hidden"]
    assert {row["kind"] for row in every["rows"]} - {row["kind"] for row in some["rows"]} == {"read"}


def test_timeline_of_one_agent(recorded: Recorded) -> None:
    """`--agent` keeps one lane; an agent that is not there is an error that names those that are."""
    home, run_ids = recorded
    only = tacho("--home", home, "timeline", run_ids[0], "--agent", "mailer", "--json").result
    assert {row["agent"] for row in only["rows"]} == {"mailer"}
    wrong = tacho("--home", home, "timeline", run_ids[0], "--agent", "nobody")
    assert wrong.code == ExitCode.USAGE
    assert "mailer, run, triage" in wrong.err


def test_effects_are_listed_for_a_run_and_for_all(recorded: Recorded) -> None:
    """Every effect with its key and state."""
    home, run_ids = recorded
    every = tacho("--home", home, "effects", "--json").result["effects"]
    assert [effect["state"] for effect in every] == ["CONFIRMED", "UNKNOWN"]
    assert [effect["idempotency_key"] for effect in every] == ["mail:anna", "mail:dropped"]
    one = tacho("--home", home, "effects", run_ids[0], "--json").result["effects"]
    assert one == every[:1]
    unknown = tacho("--home", home, "effects", "--state", "UNKNOWN", "--json").result["effects"]
    assert unknown == every[1:]
    assert "tacho reconcile" in tacho("--home", home, "effects").out


def test_runs_are_named_by_prefix_and_latest(recorded: Recorded) -> None:
    """The beginning of an id is enough where it is the only one; `latest` is the newest run."""
    home, run_ids = recorded
    assert tacho("--home", home, "show", run_ids[0][:12], "--json").result["run"]["run_id"] == run_ids[0]
    assert tacho("--home", home, "show", "latest", "--json").result["run"]["run_id"] == run_ids[1]


def test_an_ambiguous_prefix_is_refused(recorded: Recorded) -> None:
    """A beginning that several runs share: exit code 64, and the runs that it could mean."""
    home, run_ids = recorded
    shared = ""
    done = tacho("--home", home, "show", shared)
    assert done.code == ExitCode.USAGE
    assert "no run ''" in done.err
    if run_ids[0][0] == run_ids[1][0]:
        assert "begins 2 runs" in tacho("--home", home, "show", run_ids[0][0]).err


def test_an_unknown_run_is_said_with_the_nearest(recorded: Recorded) -> None:
    """A run that is not there: exit code 64, the home, ids that are close, and how to list all."""
    home, run_ids = recorded
    close = run_ids[0][:-1] + ("x" if run_ids[0][-1] != "x" else "y")
    done = tacho("--home", home, "show", close)
    assert done.code == ExitCode.USAGE
    assert run_ids[0] in done.err
    assert "tacho runs" in done.err


def test_a_terminal_without_the_characters_still_shows_something(recorded: Recorded) -> None:
    """Where the output cannot hold a character its name is printed: no traceback, exit code 0."""
    home, run_ids = recorded
    done = subprocess.run(
        [sys.executable, "-m", "tachograph.control", "--home", str(home), "timeline", run_ids[0]],
        env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2502" in done.stdout


def test_output_does_not_depend_on_the_hash_seed(recorded: Recorded) -> None:
    """The same question gets the same answer, byte for byte, whatever PYTHONHASHSEED is."""
    home, run_ids = recorded

    def shown(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "tachograph.control", "--home", str(home), "show", run_ids[1], "--json"],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    assert shown("1") == shown("2")


def test_looking_never_writes_to_the_log(recorded: Recorded) -> None:
    """The bytes of log and objects are the same before and after every command that looks."""
    home, run_ids = recorded

    def content() -> dict[str, bytes]:
        files = [path for name in ("log", "objects") for path in (home / name).rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in files}

    before = content()
    for command in (["runs"], ["show", run_ids[0]], ["timeline", run_ids[0]], ["effects"], ["verify"], ["doctor"]):
        tacho("--home", home, *command)
    assert content() == before
