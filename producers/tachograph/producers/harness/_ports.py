"""The four ports of the loop: what a plug-in can be. Every method is awaited behind the boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypedDict

from tachograph.schemas import EffectClass

Message = Mapping[str, object]
"""A chat message: `role`, `content`, and for an assistant `tool_calls`, each with `id` and
`function: {name, arguments}`, `arguments` being JSON text (the form that chat APIs agree on)."""


Port = Literal["model", "tools", "memory", "policy"]

PORTS: Mapping[Port, Sequence[str]] = {
    "model": ("complete",),
    "tools": ("catalogue", "execute"),
    "memory": ("recall", "remember"),
    "policy": ("decide",),
}
"""The methods that make a plug-in fit for a port."""


class ModelPort(Protocol):
    """Something that answers a conversation."""

    async def complete(
        self, *, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], **parameters: object
    ) -> Message:
        """The next assistant message; `usage`, `model` and `stop_reason` in it are recorded as such.

        Args:
            messages: the conversation so far.
            tools: the tools on offer: `name`, `description`, `parameters` (JSON schema).
            parameters: what the assembly says under `parameters`.
        """
        ...


class ToolRow(TypedDict, total=False):
    """One row of a tool catalogue."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """JSON schema of the arguments."""
    effect: EffectClass
    """`none`, `read` or `write`; a row without it counts as `write`."""
    idempotency: Sequence[str]
    """Names of the arguments that make up the idempotency key of a write tool."""
    version: str


class ToolPort(Protocol):
    """A set of tools."""

    def catalogue(self) -> Sequence[ToolRow]:
        """What the tools are."""
        ...

    async def execute(self, name: str, arguments: Mapping[str, object]) -> object:
        """Run a tool. A `Receipted` result keeps its receipt in the ledger.

        Raises:
            ToolRefused: the tool proves that nothing happened; its text goes to the model.
        """
        ...


class MemoryPort(Protocol):
    """What a session remembers of earlier turns."""

    async def recall(self, session: str, text: str) -> Sequence[Message]:
        """Messages worth having in the conversation before this text is answered."""
        ...

    async def remember(self, session: str, messages: Sequence[Message]) -> None:
        """Keep the messages of a finished turn."""
        ...


class Decision(TypedDict):
    """What a policy says."""

    decision: str
    """`allow`; anything else denies."""
    reasons: Sequence[str]


class PolicyPort(Protocol):
    """Asked before every tool call."""

    async def decide(self, tool: str, arguments: Mapping[str, object], effect: EffectClass) -> Decision:
        """Whether the call may leave."""
        ...


class Stateful(Protocol):
    """What a plug-in adds to keep its state over a reload, or to take it from a snapshot."""

    state_version: int
    """Version of the state's shape."""

    def dehydrate(self) -> object:
        """The state as plain data."""
        ...

    def hydrate(self, state: object) -> None:
        """Take over the state of an earlier instance; called once, before any other method."""
        ...


class Migrating(Stateful, Protocol):
    """What a plug-in adds to read states of other versions."""

    def migrate(self, state: object, version: int) -> object:
        """A state of `version` in the present shape."""
        ...


class ToolRefused(Exception):
    """A tool proves that nothing happened; its text is what the model is told."""
