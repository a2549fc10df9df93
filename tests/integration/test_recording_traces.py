"""Recorded events name the OpenTelemetry span that surrounds them, where spans are in use; nothing asks for the library."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, format_span_id, format_trace_id

from cli import tacho
from recordings import events_of, named
from tachograph.core.boundary import Agent, Run
from tachograph.producers import Recorder
from tachograph.stores import verify_home

TRACER = TracerProvider().get_tracer("test")


def traceparent(span: Span) -> str:
    """A span as the W3C header names it."""
    context = span.get_span_context()
    return f"00-{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}-{context.trace_flags:02x}"


def test_events_carry_the_span_of_their_caller(tmp_path: Path) -> None:
    """Each event has the span that is current where control logic stands; outside of any there is none."""
    spans: dict[str, str] = {}

    async def desk(run: Run) -> None:
        async with run.agent("triage") as agent:
            agent.set_state("outside", 1)
            with TRACER.start_as_current_span("outer") as outer:
                spans["outer"] = traceparent(outer)
                agent.set_state("outer", 2)
                with TRACER.start_as_current_span("inner") as inner:
                    spans["inner"] = traceparent(inner)
                    agent.set_state("inner", 3)
                agent.set_state("again", 4)

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(recorder.record(desk))
        run_id = recorder.latest_run_id
    traces = {event.key: event.meta.trace for event in named(events_of(tmp_path / "home", run_id), "StateChanged")}  # type: ignore[attr-defined]
    assert traces == {"outside": None, "outer": spans["outer"], "inner": spans["inner"], "again": spans["outer"]}
    assert verify_home(recorder.home).findings == ()


def test_side_by_side_tasks_keep_their_own_spans(tmp_path: Path) -> None:
    """The span is that of the caller's context, whatever other tasks do meanwhile, and a call's end has its task's span."""
    spans: dict[str, str] = {}

    async def look(name: str) -> str:
        await asyncio.sleep(0)
        return name

    async def one(agent: Agent, name: str) -> None:
        with TRACER.start_as_current_span(name) as span:
            spans[name] = traceparent(span)
            await agent.call(look, name)

    async def desk(run: Run) -> None:
        async with run.agent("triage") as agent:
            await asyncio.gather(*(one(agent, name) for name in ("a", "b", "c")))

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(recorder.record(desk))
        run_id = recorder.latest_run_id
    events = events_of(tmp_path / "home", run_id)
    started = [event.meta.trace for event in named(events, "CallStarted")]
    finished = [event.meta.trace for event in named(events, "CallFinished")]
    assert started == [spans["a"], spans["b"], spans["c"]]
    assert sorted(map(str, finished)) == sorted(spans.values())


def test_a_broken_tracer_does_not_stop_recording(tmp_path: Path) -> None:
    """What a foreign tracer raises stays there: the event is recorded without a span."""
    code = f"""
import logging, sys, types
logging.disable()
from tachograph.producers import Recorder
from tachograph.stores import Home
from tachograph.schemas import decode

def desk(run):
    with run.agent("a") as agent:
        agent.set_state("key", 1)

assert not any(name.startswith("opentelemetry") for name in sys.modules), "recording imports opentelemetry"
broken = types.ModuleType("opentelemetry.trace")
sys.modules["opentelemetry.trace"] = broken
with Recorder({str(tmp_path / "home")!r}) as recorder:
    recorder.record(desk)
events = [decode(stored.payload) for stored in recorder.home.log.read_run(recorder.latest_run_id)]
print([event.meta.trace for event in events])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[None, None, None, None, None]\n", "")


def test_the_command_line_tells_the_span(tmp_path: Path) -> None:
    """`timeline --json` has it in every row, `show EVENT` in its text."""

    def desk(run: Run) -> None:
        with TRACER.start_as_current_span("outer"), run.agent("triage") as agent:
            agent.set_state("key", 1)

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(desk)
    timeline = json.loads(tacho("--home", str(tmp_path / "home"), "timeline", "latest", "--json").out)
    rows = {row["text"]: row for row in timeline["result"]["rows"]}
    row = next(row for text, row in rows.items() if "key" in text)
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", row["trace"])
    shown = tacho("--home", str(tmp_path / "home"), "show", row["event_id"])
    assert row["trace"] in shown.out
    document = json.loads(tacho("--home", str(tmp_path / "home"), "show", row["event_id"], "--json").out)
    assert document["result"]["trace"] == row["trace"]
