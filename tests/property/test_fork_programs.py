"""Random fleets, forked: without changes the fork does what its parent did; with one it is a whole run, and replayed."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from fleet_programs import Generator, fleet
from forks import Forks, event_id, forks, result
from replaying import evidence
from tachograph.core.ports import ForkOptions
from tachograph.core.replay import Divergence, DivergenceKind, StreamSteps, VerdictStatus, compare
from tachograph.producers import Recorder
from tachograph.schemas import CallStarted, EffectTransitioned
from tachograph.stores import verify_home

PROGRAMS = 400 if os.environ.get("TACHO_NIGHTLY") else 12
MODELS_FROM = 1_000
"""Seeds of their own: an effect of a program is confirmed once in a home."""
PER_TEST = 4


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """A home to fork in."""
    with forks(tmp_path_factory.mktemp("forks") / "home") as found:
        yield found


@pytest.mark.parametrize("start", range(0, PROGRAMS, PER_TEST))
def test_a_random_fleet_is_forked(desk: Forks, start: int) -> None:
    """Each program by its seed: verified without a finding, nothing executed, up to the change as its parent."""
    for seed in range(start, start + PER_TEST):
        run_id = asyncio.run(_recorded(desk, seed))
        if desk.replay(run_id).verdict.status is not VerdictStatus.REPRODUCED:
            continue  # tests/property/test_fleet_programs.py is about that
        same = desk.fork(run_id)
        assert same.verdict.status is VerdictStatus.REPRODUCED, f"seed {seed}: {same.verdict}"
        _check(desk, same.run_id, seed)
        _check_what_if(desk, run_id, seed)


@pytest.mark.parametrize("start", range(MODELS_FROM, MODELS_FROM + PROGRAMS, PER_TEST))
def test_a_changed_model_answer_is_named(desk: Forks, start: int) -> None:
    """Where the model answers otherwise, the diff of fork and parent names its call, and the fork what follows from it.

    That is the answer to "where did they part?": what follows from an answer is no cause.
    """
    for seed in range(start, start + PER_TEST):
        run_id = asyncio.run(_recorded(desk, seed))
        asked = [event for event in desk.events(run_id) if isinstance(event, CallStarted) and event.name == "answers"]
        if not asked or desk.replay(run_id).verdict.status is not VerdictStatus.REPRODUCED:
            continue
        place = event_id(random.Random(seed).choice(asked))
        other = {"model": "scripted", "answer": [999_999_999, None], "usage": {"input_tokens": 1, "output_tokens": 2}}
        done = desk.fork(run_id, ForkOptions(overrides=(result(place, other),), miss="stub"))
        parted = _parted(desk, run_id, done.run_id)
        assert parted is not None, f"seed {seed}: no difference"
        assert (parted.kind, parted.event_id) == (DivergenceKind.MODEL_DECISION_CHANGED, place), (
            f"seed {seed}: {parted}"
        )
        first = done.verdict.first_divergence
        if first is not None:  # an ended call shows nothing; it was out when the answer came
            shown = first.kind is DivergenceKind.OUTCOME_CHANGED or b"999999999" in _shown(first)
            assert shown, f"seed {seed}: {first}"
            assert first.hlc > parted.hlc, f"seed {seed}: {first}"


@pytest.mark.parametrize("seed", [107, 114, 131, 143, 148, 155, 160, 284])
def test_a_changed_fork_is_replayed_in_its_own_order(tmp_path: Path, seed: int) -> None:
    """Results that it was given when they were due, between its timers, are brought there again and not taken for its own."""
    with forks(tmp_path / "home") as desk:  # its own: at nightly size the other one has had these programs' effects
        _check_what_if(desk, asyncio.run(_recorded(desk, seed)), seed)


def _check_what_if(desk: Forks, run_id: str, seed: int) -> None:
    calls = [event for event in desk.events(run_id) if isinstance(event, CallStarted) and event.kind == "tool"]
    if not calls:
        return
    changed = random.Random(seed).choice(calls)
    done = desk.fork(run_id, ForkOptions(overrides=(result(event_id(changed), ["another", seed]),), miss="stub"))
    _check(desk, done.run_id, seed)
    first = done.verdict.first_divergence
    assert first is None or first.hlc >= changed.meta.hlc, f"seed {seed}: {first}"
    assert done.verdict.live == {}
    own = desk.replay(done.run_id).verdict
    assert own.status is VerdictStatus.REPRODUCED, f"seed {seed}: {own}"


def _parted(desk: Forks, one: str, other: str) -> Divergence | None:
    """The earliest place where two runs part, as `tacho diff` names it."""
    first, second = ({(s.agent_id, s.incarnation): s for s in _streams(desk, run_id)} for run_id in (one, other))
    found = [
        compare(stream.steps, second[key].steps, run_id=one, fixtures=stream.fixtures)
        for key, stream in first.items()
        if key in second
    ]
    return min((each for each in found if each is not None), key=lambda each: each.hlc, default=None)


def _streams(desk: Forks, run_id: str) -> Iterable[StreamSteps]:
    return (stream for unit in evidence(desk.path, run_id)[1].units for stream in unit.streams)


def _shown(found: Divergence) -> bytes:
    return found.replayed.arguments if found.replayed is not None else b""


def _check(desk: Forks, run_id: str, seed: int) -> None:
    assert verify_home(desk.home, [run_id], lambda *_: None).findings == (), f"seed {seed}"
    events = desk.events(run_id)
    open_streams = {event.meta.agent_id for event in events} - {
        event.meta.agent_id for event in events if type(event).__name__ in ("AgentFinished", "RunFinished")
    }
    assert open_streams == set(), f"seed {seed}"
    assert {event.to_state.value for event in events if isinstance(event, EffectTransitioned)} <= {"FAILED"}


async def _recorded(desk: Forks, seed: int) -> str:
    with Recorder(desk.path) as recorder:
        await recorder.record(fleet, Generator(seed).program())
        assert recorder.latest_run_id is not None
        return recorder.latest_run_id
