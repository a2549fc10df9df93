"""Whatever programs do, and from however many threads: the log is whole, in order, and holds what happened."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from recordings import check_run, payloads_of
from tachograph.core.boundary import Run, SyncAgent
from tachograph.producers import Recorder, tool
from tachograph.schemas import Event
from tachograph.stores import verify_home

Action = tuple[str, str]
"""What to do, and with which value or to whom."""

NAMES = ("a", "b", "c/d", "e@f:1")

actions = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["state", "call", "effect", "fail", "checkpoint", "random"]), st.text(max_size=20)),
        st.tuples(st.sampled_from(["send", "open"]), st.sampled_from(NAMES)),
        st.tuples(st.just("now"), st.just("")),
    ),
    max_size=12,
)
programs = st.dictionaries(st.sampled_from(NAMES), actions, min_size=1, max_size=4)


@tool(effect="write")
def effect(value: str) -> str:
    """An effect without a key."""
    return value


def fail(value: str) -> None:
    """An error."""
    raise ValueError(value)


def act(agent: SyncAgent, action: Action) -> None:
    """Do one thing."""
    what, value = action
    if what == "open":
        with agent.agent(value) as child:
            child.set_state("child of", agent.id)
    elif what == "fail":
        with contextlib.suppress(ValueError):
            agent.call(fail, value)
    else:
        _ACTS[what](agent, value)


_ACTS: dict[str, Callable[[SyncAgent, str], object]] = {
    "state": lambda agent, value: agent.set_state(value, {"value": value}),
    "call": lambda agent, value: agent.call(str.upper, value),
    "effect": lambda agent, value: agent.call(effect, value),
    "checkpoint": lambda agent, value: agent.checkpoint(value),
    "random": lambda agent, value: agent.random(value).random(),
    "send": lambda agent, value: agent.send(value, [value]),
    "now": lambda agent, value: agent.now(),
}

EVENTS = {
    "state": ["StateChanged"],
    "call": ["CallStarted", "CallFinished"],
    "effect": ["CallStarted", "EffectTransitioned", "CallFinished", "EffectTransitioned"],
    "fail": ["CallStarted", "CallFinished"],
    "checkpoint": ["Checkpointed"],
    "send": ["MessageSent"],
    "now": ["CallStarted", "CallFinished"],
    "open": ["AgentStarted", "StateChanged", "AgentFinished"],
}


def alone(run: Run, program: dict[str, list[Action]]) -> None:
    """One agent after the other, in one thread."""
    for name, steps in program.items():
        with run.agent(name) as agent:
            for action in steps:
                act(agent, action)


def together(run: Run, program: dict[str, list[Action]]) -> None:
    """Every agent in a thread of its own."""
    threads = [threading.Thread(target=alone, args=(run, {name: steps})) for name, steps in program.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def expected(program: dict[str, list[Action]]) -> Counter[str]:
    """How many events of each type a program makes."""
    counts = Counter({"RunStarted": 1, "RunFinished": 1, "AgentStarted": len(program), "AgentFinished": len(program)})
    for steps in program.values():
        for what, _ in steps:
            counts.update(EVENTS.get(what, []))
        draws = len({value for what, value in steps if what == "random"})
        counts.update({"CallStarted": draws, "CallFinished": draws})
    return counts


def record(control: Callable[[Run, dict[str, list[Action]]], None], program: dict[str, list[Action]]) -> list[Event]:
    """Record a program; what was read back."""
    with tempfile.TemporaryDirectory() as directory:
        with Recorder(Path(directory) / "home", queue_events_max=8) as recorder:
            recorder.record(control, program)
            events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
        report = verify_home(recorder.home, None, lambda done, total, what: None)
        assert [finding for finding in report.findings if finding.severity == "damage"] == []
    return events


@settings(max_examples=25, deadline=None, print_blob=True)
@given(programs)
def test_a_program_is_recorded_as_it_ran(program: dict[str, list[Action]]) -> None:
    """Every event that the program makes is there, once, in its place; verification finds nothing."""
    events = record(alone, program)
    assert Counter(type(event).__name__ for event in events) == expected(program)


@settings(max_examples=25, deadline=None, print_blob=True)
@given(programs)
def test_threads_do_not_disturb_each_other(program: dict[str, list[Action]]) -> None:
    """The same agents in threads make the same events, each agent in its own order."""
    events = record(together, program)
    assert Counter(type(event).__name__ for event in events) == expected(program)
