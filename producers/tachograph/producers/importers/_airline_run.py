"""The control logic of an imported airline run: three agents over the transcript, re-drivable as it stands.

The service agent is the harness loop; its model is scripted by the transcript, its tool calls travel to the airline
agent as messages. What the transcript has from outside comes through the boundary, so a replay gets it from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

from tachograph.core.boundary import Agent, Run
from tachograph.core.errors import AgentMisuse
from tachograph.producers.harness import (
    LocalTools,
    Message,
    Plan,
    PluginPlan,
    RemoteTools,
    Roster,
    Session,
    ToolCall,
    ToolRunner,
    Workshop,
    serve_tools,
)
from tachograph.producers.importers._airline_ports import TranscriptUser, model_factory, tools_factory
from tachograph.producers.importers._airline_rows import Transcript, effect_of, transcript_of
from tachograph.producers.importers._rows import maybe_mapping

USER, SERVICE, AIRLINE = "user", "service", "airline"


async def airline(run: Run, row: Mapping[str, object]) -> None:
    """Walk the conversation that a row tells.

    Args:
        run: the run to open the agents on.
        row: as in the public airline files: `traj`, `task_id`, `trial`, `reward`, `info`.

    Raises:
        UnusableRow: the row tells no conversation.
    """
    transcript = transcript_of(row)
    async with asyncio.TaskGroup() as group:
        group.create_task(_talk(run, transcript))
        group.create_task(_serve(run, transcript))
        group.create_task(_fly(run, transcript))


async def _talk(run: Run, transcript: Transcript) -> None:
    """The user: says the next text, waits for the answer, until there is none."""
    async with run.agent(USER, role="customer, simulated by a model") as agent:
        user = TranscriptUser(transcript)
        heard: list[Message] = [{"role": "system", "content": transcript.instruction}]
        for number in range(1, len(transcript.turns) + 1):
            said = cast("Message", await agent.model(user.complete, messages=list(heard)))
            agent.set_state("turns", number)
            await agent.send(SERVICE, {"kind": "say", "text": said["content"]})
            answer = await _expect(agent, "answer", "over")
            if answer["kind"] == "over":
                return
            heard += [said, {"role": "user", "content": answer["text"]}]
        await agent.send(SERVICE, {"kind": "over"})


async def _serve(run: Run, transcript: Transcript) -> None:
    """The service agent: answers the user with the harness loop."""
    async with run.agent(SERVICE, role="service agent") as agent:
        tools = RemoteTools(agent, AIRLINE)
        session = Session(agent, _plan(transcript), {"transcript": model_factory(transcript)}, tools=tools)
        await _answer_turns(agent, session, transcript)
        await session.snapshot()
        await session.close()
        await tools.close()
        agent.set_state("rounds", session.rounds)
        agent.set_state("reward", transcript.reward)


def _plan(transcript: Transcript) -> Plan:
    plugins = {"model": PluginPlan("model", "transcript")}
    return Plan(plugins=plugins, model="model", system=transcript.system, snapshot_rounds=0)


async def _answer_turns(agent: Agent, session: Session, transcript: Transcript) -> None:
    for number, turn in enumerate(transcript.turns, 1):
        message = await _expect(agent, "say")
        if turn.answers:
            ended = await session.turn(str(message["text"]), rounds_max=len(turn.answers))
            agent.set_state("turns", number)
            if ended.text is not None:
                await agent.send(USER, {"kind": "answer", "text": ended.text})
                continue
        await agent.send(USER, {"kind": "over"})
        return
    await _expect(agent, "over")


async def _fly(run: Run, transcript: Transcript) -> None:
    """The airline: executes the tool calls, the writing ones as effects."""
    async with run.agent(AIRLINE, role="airline tools") as agent:
        registry = {"transcript": tools_factory(transcript)}
        plan = Plan(plugins={"tools": PluginPlan("tools", "transcript")}, model="", tools=("tools",))
        roster = Roster(agent, Workshop(plan, registry), plan, {})
        calls = await serve_tools(agent, _Counting(agent, LocalTools(agent, roster)))
        agent.set_state("calls", calls)
        await roster.close()


class _Counting:
    """Tools that keep what was done to the world in the agent's state."""

    def __init__(self, agent: Agent, tools: ToolRunner) -> None:
        self._agent = agent
        self._tools = tools
        self._actions: list[Mapping[str, object]] = []

    async def descriptions(self) -> Sequence[Mapping[str, object]]:
        return await self._tools.descriptions()

    async def run(self, call: ToolCall) -> str:
        answer = await self._tools.run(call)
        if effect_of(call.name) == "write":
            done = not answer.startswith("Error")
            self._actions.append({"name": call.name, "arguments": dict(call.arguments), "done": done})
            self._agent.set_state("actions", list(self._actions))
        return answer

    def together(self, calls: Sequence[ToolCall]) -> bool:
        return self._tools.together(calls)


async def _expect(agent: Agent, *kinds: str) -> Mapping[str, object]:
    message = maybe_mapping(await agent.receive())
    if message.get("kind") not in kinds:
        raise AgentMisuse(agent.id, f"it waits for {' or '.join(kinds)} and was sent {message!r}", "Mend the sender.")
    return message
