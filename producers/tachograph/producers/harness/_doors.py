"""The functions that a session passes through the boundary: each finds its plug-in only when it is executed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence

from tachograph.core.boundary import tool
from tachograph.producers.harness._facts import ToolFacts
from tachograph.producers.harness._ports import Decision, Message, ToolRefused
from tachograph.producers.harness._workshop import Workshop
from tachograph.schemas import EffectClass


def asking(workshop: Workshop, name: str) -> Callable[..., Awaitable[Message]]:
    """Ask the model."""

    @tool(name=name)
    async def complete(**request: object) -> Message:
        return await workshop.model(name).complete(**request)  # type: ignore[arg-type]  # the request is made in _session

    return complete


def recalling(workshop: Workshop, name: str) -> Callable[[str, str], Awaitable[Sequence[Message]]]:
    """Read the memory."""

    @tool(name=f"{name}.recall", effect="read")
    async def recall(session: str, text: str) -> Sequence[Message]:
        return await workshop.memory(name).recall(session, text)

    return recall


def remembering(workshop: Workshop, name: str) -> Callable[[str, Sequence[Message]], Awaitable[None]]:
    """Write the memory."""

    @tool(name=f"{name}.remember")
    async def remember(session: str, messages: Sequence[Message]) -> None:
        await workshop.memory(name).remember(session, messages)

    return remember


def deciding(workshop: Workshop, name: str) -> Callable[[str, Mapping[str, object], EffectClass], Awaitable[Decision]]:
    """Ask the policy."""

    @tool(name=name, effect="read")
    async def decide(tool: str, arguments: Mapping[str, object], effect: EffectClass) -> Decision:
        return await workshop.policy(name).decide(tool, arguments, effect)

    return decide


def executing(workshop: Workshop, facts: ToolFacts) -> Callable[..., Awaitable[object]]:
    """Run a tool."""

    def key(**arguments: object) -> str:
        return json.dumps([arguments.get(each) for each in facts.idempotency], sort_keys=True, ensure_ascii=False)

    @tool(
        name=facts.name,
        effect=facts.effect,
        version=facts.version,
        idempotency_key=key if facts.idempotency else None,
        failed=(ToolRefused,),
    )
    async def execute(**arguments: object) -> object:
        return await workshop.tools(facts.plugin).execute(facts.name, arguments)

    return execute
