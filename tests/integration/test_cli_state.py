"""The state of a run at a cut, and the past and future of an event, from the command line."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli import tacho
from cli_fleet import record
from tachograph.control._exit import ExitCode
from tachograph.core.causality import EventId
from tachograph.core.cut import cut_at_event
from tachograph.core.state import empty, fold, state_bytes
from tachograph.producers import Recorder, Run
from tachograph.schemas import Event, decode
from tachograph.stores import Home, causality_of, state_at

Recorded = tuple[Path, str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A home with a run whose mail is UNKNOWN."""
    home = tmp_path_factory.mktemp("state") / "home"
    return home, asyncio.run(record(str(home), "dropped"))[0]


def events(recorded: Recorded) -> list[Event]:
    """The run's events in causal order."""
    return [decode(stored.payload) for stored in Home.open(recorded[0]).log.read_run(recorded[1])]


def state(recorded: Recorded, *options: str) -> dict[str, Any]:
    """`tacho state --json` of the run."""
    done = tacho("--home", recorded[0], "state", recorded[1], "--json", *options)
    assert done.code == ExitCode.OK, done.err
    found: dict[str, Any] = done.result
    return found


def test_at_the_end_everything_is_inside(recorded: Recorded) -> None:
    """Without `--at` the cut holds every event, and the UNKNOWN effect is pending."""
    shown = state(recorded)
    assert shown["cut"]["closed"] is True
    assert shown["cut"]["events"] == len(events(recorded))
    (run,) = shown["runs"]
    assert run["status"] == "FINISHED"
    assert [effect["state"] for effect in run["effects"]] == ["UNKNOWN"]


def test_every_event_gives_a_closed_cut_whose_state_is_its_past(recorded: Recorded) -> None:
    """The state at an event is the fold of what the event could have known, byte for byte."""
    home = Home.open(recorded[0])
    every = events(recorded)
    for event in every:
        meta = event.meta
        event_id = EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)
        shown = state(recorded, "--at", str(event_id))
        assert shown["cut"]["closed"] is True
        positions = {(p["agent"], p["incarnation"]): p["seq"] for p in shown["cut"]["positions"]}
        inside = [e for e in every if e.meta.seq <= positions.get((e.meta.agent_id, e.meta.incarnation), 0)]
        expected = empty(recorded[1])
        for known in inside:
            fold(expected, known)

        found = state_at(home.log, [recorded[1]], partial(cut_at_event, event_id=event_id)).runs[recorded[1]]
        assert state_bytes(found) == state_bytes(expected)


def test_a_step_is_named_by_its_number(recorded: Recorded) -> None:
    """AGENT:N is where the agent's Nth step begins."""
    home = Home.open(recorded[0])
    agent = "mailer"
    shown = state(recorded, "--at", f"{agent}:1")
    assert shown["at"].startswith(f"{recorded[1]}/{agent}#1.")
    causality = causality_of(home.log, [recorded[1]])
    assert causality.holds(EventId.parse(shown["at"]))


def test_a_time_is_said_in_several_ways(recorded: Recorded) -> None:
    """Before the run nothing is there; long after its start, everything."""
    assert state(recorded, "--at", "2001-01-01T00:00:00Z")["cut"]["events"] == 0
    assert state(recorded, "--at", "+2h")["cut"]["events"] == len(events(recorded))
    assert state(recorded, "--at", "2999-01-01")["cut"]["events"] == len(events(recorded))


def test_offsets_of_the_log_are_lowered_to_a_cut(recorded: Recorded) -> None:
    """At any frame of the log the state is that of a closed cut."""
    for stored in Home.open(recorded[0]).log.read_run(recorded[1]):
        shown = state(recorded, "--at", f"{stored.segment}:{stored.offset}")
        assert shown["cut"]["closed"] is True


def test_a_time_is_taken_to_the_millisecond(recorded: Recorded) -> None:
    """No millisecond is lost on the way: a time that a float cannot hold is shown as it was said."""
    for millisecond in range(0, 1000, 7):
        when = f"2999-12-31T23:59:59.{millisecond:03}"
        assert state(recorded, "--at", when)["at"].startswith(when.replace("T", " "))


HUGE = "9" * 5000


@pytest.mark.parametrize(
    "when",
    ["mailer:99", "soon", "2026-13-01", "9999-99-99T00:00:00", "25:00", "+1x", "nowhere/1:3", "x:y:z", "nobody#1.4"],
)
def test_a_moment_that_cannot_be_is_named(recorded: Recorded, when: str) -> None:
    """The message repeats the value and says what can be said instead."""
    done = tacho("--home", recorded[0], "state", recorded[1], "--at", when)
    assert done.code == ExitCode.USAGE
    assert when in done.err


@pytest.mark.parametrize("when", ["2026-13-01", "9999-99-99T00:00:00", "25:00"])
def test_what_looks_like_a_time_is_spoken_of_as_one(recorded: Recorded, when: str) -> None:
    """And not as a place of the log, which has a colon, too."""
    done = tacho("--home", recorded[0], "state", recorded[1], "--at", when)
    assert "no calendar or clock has such a time" in done.err


@pytest.mark.parametrize("before", ["+", "mailer:", "mailer#1.", "x:", "0."])
def test_a_huge_number_is_refused(recorded: Recorded, before: str) -> None:
    """More digits than a number may have are a mistake of who typed them, not of Tachograph."""
    assert tacho("--home", recorded[0], "state", recorded[1], "--at", f"{before}{HUGE}").code == ExitCode.USAGE


@pytest.mark.parametrize("when", ["+999999999999999h", "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00"])
def test_a_time_outside_the_calendar_is_refused(recorded: Recorded, when: str) -> None:
    """There is no date to show it by."""
    done = tacho("--home", recorded[0], "state", recorded[1], "--at", when)
    assert done.code == ExitCode.USAGE
    assert when in done.err


def test_only_an_agent_of_the_run_can_be_shown(recorded: Recorded) -> None:
    """`--agent` narrows to one, which may have to begin yet; a name that nobody has is refused."""
    shown = state(recorded, "--agent", "mailer")
    assert [agent["agent"] for agent in shown["runs"][0]["agents"]] == ["mailer"]
    assert state(recorded, "--at", "2001-01-01", "--agent", "mailer")["runs"][0]["agents"] == []
    done = tacho("--home", recorded[0], "state", recorded[1], "--agent", "nobody")
    assert done.code == ExitCode.USAGE
    assert "mailer" in done.err


@pytest.mark.parametrize("agent", ["a:b", "run-x", "run-x:2", "team/one", "cafe/one"])
def test_agents_may_have_any_name_that_is_allowed(tmp_path: Path, agent: str) -> None:
    """Steps and events are found by the names of agents that look like other things, too."""

    def alone(run: Run) -> None:
        with run.agent(agent) as one:
            one.now()
            one.set_state("done", value=True)

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(alone)
    (run_id,) = Home.open(tmp_path / "home").log.run_ids()
    for when in (f"{agent}#1.2", f"{run_id}/{agent}#1.2"):
        assert state((tmp_path / "home", run_id), "--at", when)["at"] == f"{run_id}/{agent}#1.2"
        past = tacho("--home", tmp_path / "home", "past", when, "--json")
        assert past.result["event_id"] == f"{run_id}/{agent}#1.2"
    assert state((tmp_path / "home", run_id), "--at", f"{agent}:1")["at"].startswith(f"{run_id}/{agent}#1.")


def test_past_and_future_part_the_run(recorded: Recorded) -> None:
    """An event, what could have influenced it and what it could have influenced share nothing."""
    send = next(event.meta for event in events(recorded) if type(event).__name__ == "MessageSent")
    event_id = str(EventId(send.run_id, send.agent_id, send.incarnation, send.seq))
    before, after = (
        {row["event_id"] for row in tacho("--home", recorded[0], command, event_id, "--json").result["rows"]}
        for command in ("past", "future")
    )
    assert before
    assert after
    assert not before & after
    assert event_id not in before | after


def test_an_event_without_its_run_is_of_the_latest(recorded: Recorded) -> None:
    """Nobody has to type the run's id."""
    done = tacho("--home", recorded[0], "past", "mailer#1.2")
    assert recorded[1] in done.out


def test_past_of_no_event_is_refused(recorded: Recorded) -> None:
    """An id that is none, or that the run does not have."""
    for text in ("latest/mailer", "mailer#1.4000"):
        done = tacho("--home", recorded[0], "past", text)
        assert done.code == ExitCode.USAGE
        assert text.removeprefix("latest/") in done.err
