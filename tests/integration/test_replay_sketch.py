"""A replay is driven while its evidence is still checked: steps go over a pipe in parts, and none before it is checked."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest

import engine_programs as programs
from tachograph.core.errors import InternalError
from tachograph.core.replay import Fixture, Skim
from tachograph.core.state import empty, fold
from tachograph.producers import Recorder
from tachograph.replay_workers._arrivals import Arrivals
from tachograph.replay_workers._evidence import Evidence
from tachograph.replay_workers._order import order_of
from tachograph.replay_workers._reading import evidence_of
from tachograph.replay_workers._sketch import Sketch, Unsound, sketch_of
from tachograph.replay_workers._unit import Unit
from tachograph.replay_workers._wire import read_frame
from tachograph.replay_workers._wire_unit import unit_frames, unit_of
from tachograph.schemas import CallFinished, RunFinished, decode
from tachograph.stores import Home

PROGRAMS = (programs.gathers, programs.sleeps, programs.converses, programs.streams, programs.errors, programs.threads)

of_programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


def recorded(path: Path, program: Callable[..., object]) -> tuple[Home, str]:
    """A home with one run of a program."""
    with Recorder(path) as recorder:
        done = recorder.record(program)
        if inspect.isawaitable(done):
            asyncio.run(_awaited(done))
        run_id = recorder.latest_run_id
    assert run_id is not None
    return Home.open(path), run_id


async def _awaited(done: object) -> None:
    assert inspect.isawaitable(done)
    await done


def received(frames: Iterator[bytes]) -> tuple[Unit, Arrivals]:
    """What a child makes of a unit's frames."""
    arrivals = Arrivals(lambda: arrivals.take(*read_frame(io.BytesIO(next(frames)).read)))
    return unit_of(*read_frame(io.BytesIO(next(frames)).read), arrivals), arrivals


def as_sent(fixture: Fixture | None) -> Fixture | None:
    """A fixture without what only a fork's parent looks at."""
    return replace(fixture, usage=None, details=None, receipt=None) if fixture is not None else None


@of_programs
def test_a_unit_comes_over_the_pipe_as_it_was(program: Callable[..., object], tmp_path: Path) -> None:
    """Its steps, what came back from them, and its order."""
    home, run_id = recorded(tmp_path / "home", program)
    (unit,) = evidence_of(home, run_id).units
    came, _ = received(unit_frames(unit, {}))
    for stream, other in zip(unit.streams, came.streams, strict=True):
        assert tuple(other.steps) == tuple(stream.steps)
        assert tuple(other.fixtures) == tuple(map(as_sent, stream.fixtures))
        assert other.steps[-1] == stream.steps[-1]
        assert other.steps[1:] == tuple(stream.steps[1:])
    assert came.order == order_of(unit.streams, unit.times, unit.timers)
    assert (came.arguments, came.timers, came.started_at_us) == (unit.arguments, unit.timers, unit.started_at_us)


@of_programs
def test_what_is_read_ahead_is_what_is_read_event_by_event(program: Callable[..., object], tmp_path: Path) -> None:
    """Once everything is checked."""
    home, run_id = recorded(tmp_path / "home", program)
    sketch = sketched(home, run_id)
    assert list(sketch.checking) == []
    whole = evidence_of(home, run_id)
    assert replace(sketch.evidence, events=sketch.events()) == whole


@of_programs
def test_a_run_that_breaks_off_is_judged_by_all_its_events(program: Callable[..., object], tmp_path: Path) -> None:
    """Wherever it does, and though most of them are not decoded."""
    home, run_id = recorded(tmp_path / "home", program)
    payloads = [stored.payload for stored in home.log.read_run(run_id)]
    for count in range(1, len(payloads) + 1):
        skim = Skim()
        assert skim.take(payloads[:count])
        evidence = Evidence(run_id, events=skim.events)
        for _ in Sketch(home, evidence, skim).checking:
            pass
        whole = Evidence(run_id, events=list(map(decode, payloads[:count])))
        whole.judge(reduce(fold, whole.events, empty(run_id)))
        assert (evidence.fidelity, evidence.missing) == (whole.fidelity, whole.missing)


def test_nothing_is_sent_that_is_not_checked(tmp_path: Path) -> None:
    """A frame holds the steps whose last event is checked, and only those; the rest comes at the end."""
    home, run_id = recorded(tmp_path / "home", programs.streams)
    (unit,) = evidence_of(home, run_id).units
    ends = sorted(
        max(step.hlc, fixture.hlc, *(piece.hlc for piece in fixture.pieces)) if fixture is not None else step.hlc
        for stream in unit.streams
        for step, fixture in zip(stream.steps, stream.fixtures, strict=True)
    )
    _, first, *_ = unit_frames(unit, {}, [ends[1]])
    header, _ = read_frame(io.BytesIO(first).read)
    assert isinstance(header["block"], list)
    assert isinstance(header["calls"], list)
    assert len(header["block"]) + len(header["calls"]) == sum(end <= ends[1] for end in ends)


@pytest.mark.parametrize("whole", [False, True])
def test_a_result_that_was_changed_is_found(whole: bool, tmp_path: Path) -> None:
    """By its digest, when its turn comes, whether its event was decoded whole or not."""
    home, run_id = recorded(tmp_path / "home", programs.errors if whole else programs.gathers)
    sketch = sketched(home, run_id)
    read = sketch.skim.read
    at = next(at for at, one in enumerate(read) if isinstance(one, RunFinished if whole else tuple))
    found = read[at]
    if isinstance(found, tuple):
        read[at] = (*found[:-1], b"0" * len(found[-1]))  # type: ignore[call-overload]  # a picked call, as it was
    else:
        assert isinstance(found, RunFinished)
        assert found.result is not None
        read[at] = replace(found, result=replace(found.result, inline=b"0" * found.result.size))
    with pytest.raises(Unsound):
        list(sketch.checking)


def test_calls_are_not_decoded_whole(tmp_path: Path) -> None:
    """Where they hold their payloads."""
    home, run_id = recorded(tmp_path / "home", programs.gathers)
    sketch = sketched(home, run_id)
    sketch.checking.close()
    assert not any(isinstance(event, CallFinished) for event in sketch.evidence.events)
    assert any(isinstance(event, CallFinished) for event in sketch.events())


@of_programs
def test_an_event_that_was_changed_is_found(program: Callable[..., object], tmp_path: Path) -> None:
    """By its hash, whichever it is."""
    home, run_id = recorded(tmp_path / "home", program)
    count = sum(1 for _ in home.log.read_run(run_id))
    for at in range(count):
        sketch = sketched(home, run_id)
        payload = sketch.skim.payloads[at]
        sketch.skim.payloads[at] = payload[:-1] + bytes([payload[-1] ^ 1])
        with pytest.raises(Unsound):
            list(sketch.checking)
    assert count


def test_a_step_that_never_comes_is_a_mistake_of_ours(tmp_path: Path) -> None:
    """And nobody waits for it for ever."""
    home, run_id = recorded(tmp_path / "home", programs.gathers)
    (unit,) = evidence_of(home, run_id).units
    opening, *_, last = unit_frames(unit, {})
    came, arrivals = received(iter([opening, last]))
    arrivals.complete()
    with pytest.raises(InternalError):
        _ = came.streams[0].steps[0]


def sketched(home: Home, run_id: str) -> Sketch:
    """The evidence of a run that is whole."""
    sketch = sketch_of(home, run_id)
    assert sketch is not None
    return sketch
