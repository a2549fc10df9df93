"""What the tests of forks share: forking, and looking at what a fork is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import fork_fleet
from recordings import check_run, payloads_of
from tachograph.core.canonical import decode_body
from tachograph.core.ports import ForkOptions, ForkResult, Override, ReplayOptions, ReplayResult
from tachograph.core.replay import VerdictStatus
from tachograph.producers import InProcessTransport, Recorder
from tachograph.replay_workers._fork import fork_run
from tachograph.replay_workers._process import ReplayProcess
from tachograph.replay_workers._replay import replay_run
from tachograph.schemas import (
    AgentStarted,
    CallFinished,
    CallStarted,
    Event,
    MessageReceived,
    MessageSent,
    RunStarted,
)
from tachograph.stores import Home, verify_home


class Forks:
    """A home in which runs are forked by one replaying process."""

    def __init__(self, path: Path, process: ReplayProcess) -> None:
        self.path = path
        self._process = process

    @property
    def home(self) -> Home:
        """The home, opened anew."""
        return Home.open(self.path)

    def fork(self, run_id: str, options: ForkOptions | None = None) -> ForkResult:
        """Fork a run."""
        return fork_run(self.home, run_id, options or ForkOptions(), self._process)

    def replay(self, run_id: str) -> ReplayResult:
        """Replay a run."""
        return replay_run(self.home, run_id, ReplayOptions(), self._process)

    def events(self, run_id: str) -> list[Event]:
        """A run's events; its invariants hold."""
        return check_run(payloads_of(self.home, run_id))

    def place(self, run_id: str, agent_id: str, name: str, nth: int = 0) -> str:
        """The event id of the n-th call of this name that an agent makes."""
        found = [
            event
            for event in self.events(run_id)
            if isinstance(event, CallStarted) and event.meta.agent_id == agent_id and event.name == name
        ]
        return event_id(found[nth])

    def value(self, event: CallFinished | MessageReceived | MessageSent | RunStarted) -> object:
        """What came back, was received or sent; of a run: its list of changes."""
        body = (
            event.result
            if isinstance(event, CallFinished)
            else event.fork
            if isinstance(event, RunStarted)
            else event.body
        )
        assert body is not None
        return decode_body(self.home.body(body, event_id(event)))

    def arguments(self, event: CallStarted | RunStarted | AgentStarted) -> list[object]:
        """What was asked."""
        assert event.arguments is not None
        asked = cast("Mapping[str, list[object]]", decode_body(self.home.body(event.arguments, event_id(event))))
        return asked["args"]

    def calls(self, run_id: str, agent_id: str) -> list[tuple[str, str | None]]:
        """Name and outcome of each call of an agent."""
        events = [event for event in self.events(run_id) if event.meta.agent_id == agent_id]
        ends = {event.call_id: event.outcome.value for event in events if isinstance(event, CallFinished)}
        return [
            (event.name, ends.get(event.meta.seq))
            for event in events
            if isinstance(event, CallStarted) and event.kind != "messages"
        ]

    def check(self, run_id: str) -> None:
        """A fork is a whole run: verified without a finding, and its replay reproduces it."""
        assert verify_home(self.home, [run_id], lambda *_: None).findings == ()
        replayed = self.replay(run_id)
        assert replayed.verdict.status is VerdictStatus.REPRODUCED, replayed.verdict


@contextmanager
def forks(path: Path) -> Iterator[Forks]:
    """A home to fork in."""
    with ReplayProcess() as process:
        yield Forks(path, process)


def event_id(event: Event) -> str:
    """An event's id."""
    meta = event.meta
    return f"{meta.run_id}/{meta.agent_id}#{meta.incarnation}.{meta.seq}"


def result(event: str, value: object) -> Override:
    """A call comes back with something else."""
    return Override("result", event, value)


def swap(recorded: str, driven: str) -> dict[str, str]:
    """One function of `fork_fleet` in place of another."""
    return {f"fork_fleet:{recorded}": f"fork_fleet:{driven}"}


def log_bytes(path: Path) -> dict[str, bytes]:
    """Every file of a home's spools."""
    files = sorted((path / "log").glob("*/*"))
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def record(home: object, entrypoint: Callable[..., object], *args: object) -> str:
    """Record a run; its id."""
    with Recorder(str(home)) as recorder:
        value = recorder.record(entrypoint, *args)
        if asyncio.iscoroutine(value):
            asyncio.run(cast("Any", value))
        assert recorder.latest_run_id is not None
        return recorder.latest_run_id


def record_office(home: object) -> str:
    """Record the two units in one process; the run's id."""

    async def both() -> str:
        with Recorder(str(home), transport=InProcessTransport()) as recorder:
            opened = recorder.run("office", entrypoint="fork_fleet:office")
            async with opened as run, asyncio.TaskGroup() as group:
                group.create_task(recorder.join(run.context(), "cashier", fork_fleet.cashier))
                group.create_task(fork_fleet.office(run))
            return run.id

    return asyncio.run(both())
