"""Random fleets of asyncio agents: what was recorded is reproduced, and one change is found where it was made.

200 programs by default, 2,000 with TACHO_NIGHTLY=1. A failure names the seed; `fleet_programs.Generator(seed)` makes the
program again.
"""

from __future__ import annotations

import asyncio
import copy
import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

import fleet_programs
from fleet_programs import Body, Generator, Program, Statement
from replaying import evidence, in_causal_order, replayed
from tachograph.core.boundary import Run
from tachograph.core.ports import ReplayOptions
from tachograph.core.replay import DivergenceKind, Step, VerdictStatus, explain
from tachograph.producers import Recorder
from tachograph.replay_workers import replay

NIGHTLY = os.environ.get("TACHO_NIGHTLY") == "1"
PROGRAMS = 2_000 if NIGHTLY else 200
CHANGED = 500 if NIGHTLY else 30
IN_CHILDREN = 200 if NIGHTLY else 20
SEED = int(os.environ.get("FLEET_PROGRAMS_SEED", "20_000"))

NEW_NUMBER = 999_999_999


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded programs."""

    home: Path
    runs: dict[int, str]
    """Seed to run id."""
    programs: dict[int, Program]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Every program, recorded once."""
    home = tmp_path_factory.mktemp("fleets") / "home"
    programs = {seed: Generator(seed).program() for seed in range(SEED, SEED + PROGRAMS)}
    with Recorder(home) as recorder:
        runs = {seed: asyncio.run(_record(recorder, program)) for seed, program in programs.items()}
    return Recorded(home, runs, programs)


async def _record(recorder: Recorder, program: Program) -> str:
    # Several fleets at once: what is shared in the process must not leak from one into the other.
    await asyncio.wait_for(recorder.record(fleet_programs.fleet, program), 60)
    assert recorder.latest_run_id is not None
    return recorder.latest_run_id


def test_a_recorded_fleet_is_reproduced(recorded: Recorded) -> None:
    """Whatever its agents do with tasks, time-outs, cancellations, messages, queues, locks and events."""
    print(f"seeds {SEED} to {SEED + PROGRAMS - 1}")
    failed = []
    for seed, run_id in recorded.runs.items():
        verdict, _ = replayed(recorded.home, run_id, fleet_programs.fleet)
        if verdict.status is not VerdictStatus.REPRODUCED:
            first = verdict.first_divergence
            failed.append(f"seed {seed}: {verdict.status} {verdict.missing} {explain(first) if first else ''}")
    assert not failed, "\n".join(failed)


def test_processes_of_their_own_reproduce_them_too(recorded: Recorded) -> None:
    """As the service replays them: over a pipe, in fresh interpreters, under the guard."""
    run_ids = [*recorded.runs.values()][:IN_CHILDREN]
    for result in replay(recorded.home, run_ids, ReplayOptions(), 2, lambda *_: None):
        assert result.verdict.status is VerdictStatus.REPRODUCED, (result.run_id, result.verdict, result.error)
        assert not result.verdict.live


@pytest.mark.parametrize("change", ["argument", "inserted", "removed", "swapped", "read", "clock", "early end"])
def test_a_change_is_found_where_it_was_made(recorded: Recorded, change: str) -> None:
    """The first divergence is the changed place, and its class is right."""
    failed = []
    seen = 0
    for seed, place in _places(recorded, change):
        seen += 1
        found = _first(recorded, seed, _changed(recorded.programs[seed], place, change), guard=change == "clock")
        expected = _expected(recorded, seed, place, change)
        if found not in expected:
            failed.append(f"seed {seed}, {place}: {found} instead of {sorted(expected)}")
    assert seen
    assert not failed, "\n".join(failed)


def test_a_changed_model_answer_is_found_in_what_follows_from_it(recorded: Recorded) -> None:
    """Control logic asks the model the same, and takes another answer for its own: the first step that shows it is named.

    The call itself is as recorded, so it is no divergence. What the model itself answers cannot change in a replay; where it
    does, in a fork, tests/property/test_fork_programs.py looks for the call.
    """
    failed = []
    seen = 0
    for seed, place in _places(recorded, "model answer"):
        expected = _following(recorded, seed, place)
        if expected is None:
            continue  # nothing shows what the model said
        seen += 1
        found = _first(recorded, seed, _changed(recorded.programs[seed], place, "model answer"), guard=False)
        if found != expected:
            failed.append(f"seed {seed}, {place}: {found} instead of {expected}")
    assert seen
    assert not failed, "\n".join(failed)


@dataclass(frozen=True, slots=True)
class Place:
    """A statement at the top of an agent's body."""

    agent: int
    index: int
    number: int


def _places(recorded: Recorded, change: str) -> Iterator[tuple[int, Place]]:
    """A changeable call of each of some programs."""
    pick = random.Random(SEED)
    kind = "model" if change == "model answer" else "call"
    for seed in pick.sample(sorted(recorded.programs), CHANGED):
        program = recorded.programs[seed]
        reached = {_number(step): step for step in _steps(recorded, seed)}
        places = [
            Place(agent, index, statement[1])
            for agent, (_, body) in enumerate(program["agents"])
            for index, statement in enumerate(body)
            if statement[0] == kind and statement[1] in reached and _fits(body, index, reached, change)
        ]
        if places:
            yield seed, pick.choice(places)


def _fits(body: Body, index: int, reached: dict[int | None, Step], change: str) -> bool:
    if change != "swapped":
        return True
    following = body[index + 1] if index + 1 < len(body) else ["", None]
    return (
        following[0] == "call"
        and following[1] in reached
        and _arguments(reached[following[1]])[1] == _arguments(reached[body[index][1]])[1]  # both saw the same
    )


def _changed(program: Program, place: Place, change: str) -> Program:
    changed = copy.deepcopy(program)
    body = changed["agents"][place.agent][1]
    statement: Statement = body[place.index]
    match change:
        case "argument":
            statement[1] = NEW_NUMBER
        case "inserted":
            body.insert(place.index, ["call", NEW_NUMBER, "at_once"])
        case "removed":
            del body[place.index]
        case "swapped":
            body[place.index], body[place.index + 1] = body[place.index + 1], statement
        case "read":
            body.insert(place.index, ["id", "a new purpose"])
        case "model answer":
            body[place.index] = ["misheard", place.number, NEW_NUMBER]
        case "clock":
            body.insert(place.index, ["clock_past_the_boundary"])
        case _:
            body.insert(place.index, ["end"])
    return changed


def _first(recorded: Recorded, seed: int, program: Program, *, guard: bool) -> tuple[DivergenceKind, str, int] | None:
    async def changed(run: Run, _: Program) -> object:
        return await fleet_programs.fleet(run, program)

    _, attempt = replayed(recorded.home, recorded.runs[seed], changed, guard=guard)
    if not attempt.result.divergences:
        return None
    first = in_causal_order(attempt.result.divergences)[0]
    return first.kind, first.agent_id, first.step


def _expected(recorded: Recorded, seed: int, place: Place, change: str) -> set[tuple[DivergenceKind, str, int]]:
    """What the divergence may be called: where a call is removed, one of its kind may seem to have come in its place.

    And where two are swapped, the first one seems to be left out if the replay of the fleet is stopped before it comes.
    """
    step = next(step for step in _steps(recorded, seed) if _number(step) == place.number)
    kinds = {
        "argument": {DivergenceKind.ARGUMENT_CHANGED},
        "inserted": {DivergenceKind.CALL_EXTRA},
        "removed": {DivergenceKind.CALL_MISSING, DivergenceKind.ARGUMENT_CHANGED},
        "swapped": {DivergenceKind.REORDERED, DivergenceKind.CALL_MISSING},
        "read": {DivergenceKind.CALL_EXTRA},
        "clock": {DivergenceKind.UNRECORDED_INPUT},
        "early end": {DivergenceKind.CALL_MISSING},
    }
    return {(kind, step.agent_id, step.number) for kind in kinds[change]}


def _following(recorded: Recorded, seed: int, place: Place) -> tuple[DivergenceKind, str, int] | None:
    """The first step behind a model call, of its agent or a child, that shows which number was answered; None: none does."""
    steps = sorted(_steps(recorded, seed), key=lambda step: step.hlc)
    asked = next(step for step in steps if _number(step) == place.number)
    number = re.compile(rb"\b%d\b" % place.number)
    for step in steps:
        if step.hlc > asked.hlc and step.kind != "messages" and number.search(step.arguments):
            stated = step.kind in ("state", "checkpoint")
            kind = DivergenceKind.STATE_CHANGED if stated else DivergenceKind.ARGUMENT_CHANGED
            return kind, step.agent_id, step.number
    return None


def _steps(recorded: Recorded, seed: int) -> list[Step]:
    _, found = evidence(recorded.home, recorded.runs[seed])
    (unit,) = found.units
    return [step for stream in unit.streams for step in stream.steps]


def _number(step: Step) -> Any:  # the number of its statement, where it has one
    if step.kind == "model" and step.name == "answers":
        return orjson.loads(step.arguments)["kwargs"]["number"]
    return _arguments(step)[0] if step.kind == "tool" else None


def _arguments(step: Step) -> list[Any]:
    return list(orjson.loads(step.arguments)["args"])
