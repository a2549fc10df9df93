"""A tool that uses an agent: a replay does not execute tools, so that this is refused when it is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tachograph.core.boundary import Agent, Run, SyncAgent, current_agent, tool
from tachograph.core.errors import AgentMisuse
from tachograph.producers import Recorder

Used = Callable[[SyncAgent], object]

USES: dict[str, Used] = {
    "tool 'inner' is asked for": lambda agent: agent.call(inner),
    "clock 'now' is asked for": lambda agent: agent.now(),
    "a message to 'other' is sent": lambda agent: agent.send("other", 1),
    "state 'key' is recorded": lambda agent: agent.set_state("key", 1),
    "checkpoint 'here' is recorded": lambda agent: agent.checkpoint("here"),
    "agent 'child' is opened": lambda agent: agent.agent("child").__enter__(),
}


@tool()
def inner() -> None:
    """What the tool calls."""


@pytest.mark.parametrize("what", USES)
def test_a_tool_may_not_use_the_agent(tmp_path: Path, what: str) -> None:
    """The message names what was asked for, and what to do instead."""

    def program(run: Run) -> None:
        with run.agent("clerk") as agent:
            agent.call(lambda: USES[what](agent))

    with Recorder(tmp_path / "home") as recorder, pytest.raises(AgentMisuse, match=what) as refused:
        recorder.record(program)
    assert refused.value.agent_id == "clerk"
    assert "in control logic" in str(refused.value)


@pytest.mark.parametrize("waits", [False, True])
def test_nor_may_an_asynchronous_one(tmp_path: Path, *, waits: bool) -> None:
    """Nor what it starts: before it first waits and behind that."""

    async def outer(agent: Agent) -> object:
        if waits:
            await asyncio.sleep(0)
        return await asyncio.create_task(agent.call(inner))  # type: ignore[func-returns-value,arg-type]

    async def program(run: Run) -> None:
        async with run.agent("clerk") as agent:
            await agent.call(lambda: outer(agent))

    async def record() -> None:
        with Recorder(tmp_path / "home") as recorder, pytest.raises(AgentMisuse, match="tool 'inner'"):
            await recorder.record(program)

    asyncio.run(record())


def test_control_logic_goes_on_behind_a_call(tmp_path: Path) -> None:
    """Also where the tool raised, and where a run of its own is recorded in it."""

    def own() -> object:
        with Recorder(tmp_path / "another") as recorder:
            return recorder.record(small)

    def fails() -> None:
        raise ValueError

    def small(run: Run) -> str:
        with run.agent("small") as agent:
            agent.call(inner)
            return current_agent().id

    def program(run: Run) -> object:
        with run.agent("clerk") as agent:
            with pytest.raises(ValueError, match="^$"):
                agent.call(fails)
            found = agent.call(own)
            agent.call(inner)
            return found

    with Recorder(tmp_path / "home") as recorder:
        assert recorder.record(program) == "small"
