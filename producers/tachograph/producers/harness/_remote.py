"""Tools that another agent of the run executes: calls and results travel as messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tachograph.core.boundary import Agent
from tachograph.core.errors import AgentMisuse
from tachograph.producers.harness._messages import ToolCall
from tachograph.producers.harness._shapes import as_mapping, as_text
from tachograph.producers.harness._tools import ToolRunner

_NO_MORE = {"kind": "no_more_calls"}


class RemoteTools:
    """Hands every tool call to another agent, which runs `serve_tools`, and waits for the result."""

    def __init__(self, agent: Agent, to_agent_id: str) -> None:
        self._agent = agent
        self._to = to_agent_id

    async def descriptions(self) -> Sequence[Mapping[str, object]]:
        """Nothing: the other agent knows what its tools are."""
        return []

    async def run(self, call: ToolCall) -> str:
        """Execute a call over there."""
        await self._agent.send(self._to, _request(self._agent.id, call))
        message = await self._agent.receive()
        answer = as_mapping(message) or {}
        if answer.get("kind") != "tool_result" or answer.get("id") != call.id:
            raise AgentMisuse(
                self._agent.id,
                f"it waits for the result of tool call {call.id!r} and was sent {message!r}",
                f"Let only {self._to!r} send to it until the result is there.",
            )
        return str(answer.get("content", ""))

    def together(self, calls: Sequence[ToolCall]) -> bool:
        """One after the other: results carry no promise about their order."""
        return len(calls) <= 1

    async def close(self) -> None:
        """Tell the other agent that no more calls come."""
        await self._agent.send(self._to, _NO_MORE)


async def serve_tools(agent: Agent, tools: ToolRunner) -> int:
    """Execute the tool calls that come as messages until no more come; returns how many there were."""
    count = 0
    while True:
        message = as_mapping(await agent.receive()) or {}
        if message.get("kind") != "tool_call":
            return count
        call = _call(message)
        content = await tools.run(call)
        count += 1
        await agent.send(str(message["from"]), {"kind": "tool_result", "id": call.id, "content": content})


def _request(sender: str, call: ToolCall) -> dict[str, object]:
    return {
        "kind": "tool_call",
        "from": sender,
        "id": call.id,
        "name": call.name,
        "arguments": dict(call.arguments),
        "fault": call.fault,
    }


def _call(message: Mapping[str, object]) -> ToolCall:
    return ToolCall(
        id=str(message.get("id")),
        name=str(message.get("name")),
        arguments=as_mapping(message.get("arguments")) or {},
        fault=as_text(message.get("fault")),
    )
