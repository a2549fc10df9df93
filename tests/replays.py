"""What the tests of replays share: control logic as text, recorded here and re-driven in a process of its own."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import cast

from tachograph.core.canonical import display
from tachograph.core.ports import ReplayOptions, ReplayResult
from tachograph.core.replay import Divergence, DivergenceKind, Step, Verdict, VerdictStatus
from tachograph.producers import Recorder
from tachograph.replay_workers._process import ReplayProcess
from tachograph.replay_workers._replay import replay_run
from tachograph.stores import Home

MODULE = "desk"
"""The module of control logic that is given as text; its entry point is `MODULE:desk`."""

_SECONDS_MAX = 60.0

HEAD = """\
import asyncio
import json
from tachograph.core.boundary import current_agent, tool

def work(value=None):
    return value

"""
"""Stands before every text of control logic."""


class Replays:
    """A home whose runs are replayed by one replaying process."""

    def __init__(self, path: Path, process: ReplayProcess) -> None:
        self.path = path
        self._home = path / "home"
        self._process = process
        self._codes = 0

    @property
    def home(self) -> Home:
        """The home, opened anew."""
        return Home.open(self._home)

    def code(self, source: str) -> Path:
        """A directory that holds control logic."""
        self._codes += 1
        directory = self.path / f"code{self._codes}"
        directory.mkdir()
        (directory / f"{MODULE}.py").write_text(HEAD + source)
        return directory

    def record(self, source: str | Callable[..., object], *args: object) -> str:
        """Record a run of control logic, given as text or as a function; returns its id. Errors of it are let go."""
        if not isinstance(source, str):
            return self._recorded(source, args)
        with imported(self.code(source)) as module:
            return self._recorded(module.desk, args)

    def replay(self, run_id: str, source: str | None = None, **options: object) -> Verdict:
        """The verdict on a run, driven by its own code or by this text."""
        return self.result(run_id, source, **options).verdict

    def result(self, run_id: str, source: str | None = None, **options: object) -> ReplayResult:
        """The result of a replay."""
        if source is not None:
            options["code"] = str(self.code(source))
        options.setdefault("seconds_max", _SECONDS_MAX)
        return replay_run(self.home, run_id, ReplayOptions(**options), self._process)  # type: ignore[arg-type]

    def changed(self, before: str, *changes: tuple[str, str]) -> Divergence:
        """The first divergence of control logic in which some texts were replaced from its recording."""
        after = before
        for old, new in changes:
            assert after.count(old) == 1, old
            after = after.replace(old, new)
        return diverged(self.replay(self.record(before), after))

    def _recorded(self, function: Callable[..., object], args: tuple[object, ...]) -> str:
        with Recorder(self._home) as recorder:
            try:
                if inspect.iscoroutinefunction(function):
                    asyncio.run(_awaited(recorder, function, args))
                else:
                    recorder.record(function, *args)
            except Exception:
                pass
            assert recorder.latest_run_id is not None
            return recorder.latest_run_id


async def _awaited(recorder: Recorder, function: Callable[..., object], args: tuple[object, ...]) -> object:
    return await recorder.record(function, *args)  # type: ignore[misc]  # a coroutine function's is awaitable


@contextmanager
def imported(directory: Path) -> Iterator[ModuleType]:
    """The module of control logic of a directory, importable by its name while it is recorded."""
    spec = importlib.util.spec_from_file_location(MODULE, directory / f"{MODULE}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[MODULE] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[MODULE]


def diverged(verdict: Verdict) -> Divergence:
    """The first divergence of a verdict that has one."""
    assert verdict.status is VerdictStatus.DIVERGED, (verdict.missing, verdict.taints, verdict.blocked)
    assert verdict.live == {}
    assert verdict.first_divergence is not None
    return verdict.first_divergence


def reproduced(verdict: Verdict) -> Verdict:
    """A verdict that proves everything."""
    assert verdict.status is VerdictStatus.REPRODUCED, (verdict.first_divergence, verdict.missing, verdict.blocked)
    assert (verdict.control_flow, verdict.state, verdict.content) == ("reproduced",) * 3
    assert (verdict.live, verdict.missing, verdict.divergences) == ({}, (), ())
    return verdict


def limited(verdict: Verdict) -> Verdict:
    """A verdict that proves less, and says why."""
    assert verdict.status is VerdictStatus.LIMITED, (verdict.status, verdict.first_divergence)
    assert verdict.live == {}
    return verdict


def asked(step: Step | None) -> object:
    """The first argument of a call, or what else a step carries, as a person expects it."""
    assert step is not None
    value = display(step.arguments)
    if isinstance(value, dict) and value.keys() == {"args", "kwargs"}:
        return cast("list[object]", value["args"])[0]
    return value


def line_at(where: str) -> str:
    """The line of control logic at `file:line`."""
    path, _, line = where.rpartition(":")
    return Path(path).read_text().splitlines()[int(line) - 1]


def sides(found: Divergence) -> tuple[DivergenceKind, int, str | None, str | None]:
    """Kind, step, and the names of both sides."""
    recorded, replayed = found.recorded, found.replayed
    return found.kind, found.step, recorded and recorded.name, replayed and replayed.name


def evidence_bytes(home: Path) -> dict[str, str]:
    """Digest of every file that holds evidence, by its path in the home."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in ("log", "objects", "keys", "incarnations")
        for path in sorted((home / part).rglob("*"))
        if path.is_file()
    }
