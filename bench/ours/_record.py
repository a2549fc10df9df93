"""Recording: the whole cost of a call, what its caller waits, and an effect made durable first."""

from __future__ import annotations

import asyncio

from bench._measure import Figures, Subject, fresh_directory, timed, waits
from bench._payload import pairs
from bench.baselines._floors import GROUP
from tachograph.core.boundary import SyncAgent
from tachograph.core.redaction import DEFAULT_POLICY, NO_REDACTION, RedactionPolicy
from tachograph.producers import Recorder, tool

_PAIRS = pairs(256)
_ADDRESSED = [
    ({**arguments, "mail": f"customer{i}@example.org"}, answer) for i, (arguments, answer) in enumerate(_PAIRS)
]
"""The same with something to redact in every call."""


class _Fleet:
    """One agent with one tool, recording for as long as the subject lives."""

    def __init__(self, policy: RedactionPolicy, *, addressed: bool = False, raw: bool = False) -> None:
        home = fresh_directory() / "home"
        self.recorder = Recorder(home, redaction=policy, raw=raw)
        self._pairs = _ADDRESSED if addressed else _PAIRS
        self.answer: dict[str, object] = {}
        self._run = self.recorder.run("bench")
        self._opening = self._run.__enter__().agent("worker")
        self.agent: SyncAgent = self._opening.__enter__()

    def call(self, index: int) -> None:
        """One recorded call."""
        arguments, self.answer = self._pairs[index % 256]
        self.agent.call(self._tool, arguments)

    def effect(self, index: int) -> None:
        """One recorded effect."""
        self.agent.call(_effect, _PAIRS[index % 256][0])

    def _tool(self, arguments: dict[str, object]) -> dict[str, object]:
        return self.answer


@tool(effect="write")
def _effect(arguments: dict[str, object]) -> str:
    return "done"


@tool(effect="write")
async def _effect_async(arguments: dict[str, object]) -> str:
    return "done"


def call() -> Subject:
    """CPU of all threads for a call, without redaction."""
    return _calls(NO_REDACTION)


def call_redacted() -> Subject:
    """The same with the default policy."""
    return _calls(DEFAULT_POLICY)


def call_encrypted() -> Subject:
    """The same with what it took out kept, encrypted."""
    return _calls(DEFAULT_POLICY, raw=True)


def call_addressed() -> Subject:
    """With the default policy, and an address in every call."""
    return _calls(DEFAULT_POLICY, addressed=True)


def call_addressed_encrypted() -> Subject:
    """The same with the addresses kept, encrypted."""
    return _calls(DEFAULT_POLICY, addressed=True, raw=True)


def call_wait() -> Subject:
    """What the caller waits."""
    fleet = _Fleet(NO_REDACTION)

    def measured(count: int) -> Figures:
        figures = waits(fleet.call, count)
        fleet.recorder.flush()
        return figures

    return measured


def durable_effect() -> Subject:
    """Wall time of an effect that is durable before it leaves."""
    fleet = _Fleet(NO_REDACTION)

    def work(count: int) -> None:
        for index in range(count):
            fleet.effect(index)

    return lambda count: timed(work, count)


def durable_effects() -> Subject:
    """The same of effects that are on their way together: tasks of one event loop, which share a sync."""
    recorder = Recorder(fresh_directory() / "home", redaction=NO_REDACTION)

    async def groups(count: int) -> None:
        async with recorder.run("bench") as run, run.agent("worker") as agent:
            for index in range(0, count, GROUP):
                together = range(index, index + GROUP)
                await asyncio.gather(*(agent.call(_effect_async, _PAIRS[number % 256][0]) for number in together))

    return lambda count: timed(lambda count: asyncio.run(groups(count)), count)


def _calls(policy: RedactionPolicy, *, addressed: bool = False, raw: bool = False) -> Subject:
    fleet = _Fleet(policy, addressed=addressed, raw=raw)

    def work(count: int) -> None:
        for index in range(count):
            fleet.call(index)
        fleet.recorder.flush()

    return lambda count: timed(work, count)
