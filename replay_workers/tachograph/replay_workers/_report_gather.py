"""Gathers what a report says from a result and the home that its runs lie in. The log is only read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from tachograph.core.canonical import JsonValue, display
from tachograph.core.ports import ForkResult, ReplayResult
from tachograph.replay_workers._report_bodies import Bodies
from tachograph.replay_workers._report_plain import clip, plain
from tachograph.replay_workers._report_run import Recorded, event_id_of, recorded_run, run_facts
from tachograph.replay_workers._report_timeline import timeline_of
from tachograph.replay_workers._report_values import Report, RunFacts, Timeline, Value
from tachograph.replay_workers._report_words import fork_title, summary_of, title_of
from tachograph.schemas import RunStarted
from tachograph.stores import Home

_CHANGE_CHARACTERS_MAX = 1_000


def gather(home: Path, result: ReplayResult | ForkResult) -> Report:
    """Everything that a report says.

    Raises:
        NoHome: there is no home.
    """
    opened = Home.open(home)
    bodies = Bodies(opened.body)
    if isinstance(result, ForkResult):
        return _of_fork(opened, result, bodies)
    recorded = recorded_run(opened, result.run_id)
    run = run_facts(recorded, bodies) if recorded is not None else None
    return Report(
        kind="replay",
        title=title_of(run, result.run_name, result.verdict.first_divergence),
        summary=summary_of("replay", result.verdict, result.error, None),
        run=run,
        parent=None,
        verdict=result.verdict,
        seconds=result.seconds,
        timeline=_timeline(recorded, run, result, bodies),
        error=result.error,
    )


def _of_fork(home: Home, result: ForkResult, bodies: Bodies) -> Report:
    recorded, of_parent = recorded_run(home, result.run_id), recorded_run(home, result.parent_run_id)
    run = run_facts(recorded, bodies) if recorded is not None else None
    parent = run_facts(of_parent, bodies) if of_parent is not None else None
    return Report(
        kind="fork",
        title=fork_title(parent or run, result.ended),
        summary=summary_of("fork", result.verdict, None, result.ended),
        run=run,
        parent=parent,
        verdict=result.verdict,
        seconds=result.seconds,
        timeline=_timeline(recorded, run, result, bodies),
        ended=result.ended,
        changes=tuple(_changes(recorded, bodies)) if recorded is not None else (),
    )


def _timeline(
    recorded: Recorded | None, run: RunFacts | None, result: ReplayResult | ForkResult, bodies: Bodies
) -> Timeline:
    if recorded is None or run is None:
        return Timeline(result.run_id)
    named = [event_id for hit in run.signatures for event_id in hit.event_ids]
    return timeline_of(recorded, result.verdict, named, bodies, is_fork=isinstance(result, ForkResult))


def _changes(recorded: Recorded, bodies: Bodies) -> Iterator[Value]:
    """The list of changes that a fork was recorded with."""
    started = next((event for event in recorded.events if isinstance(event, RunStarted)), None)
    if started is None or started.fork is None:
        return
    data = bodies.read(started.fork, event_id_of(started))
    changes = display(data) if data is not None else None
    if not isinstance(changes, dict):
        return
    for name, value in changes.items():
        if name != "parent_run_id":
            yield from _change(name, value)


def _change(name: str, value: JsonValue) -> Iterator[Value]:
    match name, value:
        case "entrypoints", dict():
            for old, new in value.items():
                yield Value("entry point", f"{plain(old)} → {plain(str(new))}")
        case "overrides", list():
            for one in value:
                fields = one if isinstance(one, dict) else cast("dict[str, JsonValue]", {})
                text = json.dumps(fields.get("value"), ensure_ascii=False)
                at = plain(str(fields.get("event_id")))
                yield Value(f"{plain(str(fields.get('what')))} at {at}", clip(plain(text), _CHANGE_CHARACTERS_MAX))
        case "from_event", None:
            pass
        case "code", None:
            pass
        case _:
            yield Value(_LABELS.get(name, plain(name)), clip(plain(_told(value)), _CHANGE_CHARACTERS_MAX))


_LABELS = {"from_event": "may differ from", "code": "code in", "miss": "unrecorded calls"}


def _told(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
