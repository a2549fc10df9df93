"""Plug-ins that come with the harness: small, for tests, examples and a first assembly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tachograph.core.errors import InvalidSetting
from tachograph.producers.harness._ports import Decision, Message
from tachograph.schemas import EffectClass


class ScriptedModel:
    """Gives the answers in `settings["answers"]`, one after the other: texts or assistant messages."""

    state_version = 1

    def __init__(self, settings: Mapping[str, object], needs: Mapping[str, object]) -> None:
        answers = settings.get("answers")
        if not isinstance(answers, list):
            raise InvalidSetting("settings.answers", answers, "it must be a list of texts or assistant messages")
        self._answers: list[object] = answers
        self._given = 0

    async def complete(
        self, *, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], **parameters: object
    ) -> Message:
        """The next answer of the script."""
        if self._given >= len(self._answers):
            raise InvalidSetting("settings.answers", self._given, "the script has no more answers; add one")
        answer = self._answers[self._given]
        self._given += 1
        return cast("Message", answer) if isinstance(answer, Mapping) else {"content": str(answer)}

    def dehydrate(self) -> object:
        """How many answers were given."""
        return self._given

    def hydrate(self, state: object) -> None:
        """Go on behind the answers that were given."""
        self._given = cast("int", state)


class RecentMemory:
    """Remembers the last `settings["messages"]` messages of user and assistant, for sessions that come later."""

    state_version = 1

    def __init__(self, settings: Mapping[str, object], needs: Mapping[str, object]) -> None:
        kept = settings.get("messages", 20)
        if not isinstance(kept, int) or kept < 1:
            raise InvalidSetting("settings.messages", kept, "it must be a whole number from 1")
        self._kept = kept
        self._said: list[tuple[str, Message]] = []

    async def recall(self, session: str, text: str) -> Sequence[Message]:
        """What was said in other sessions; a session's own words are in its conversation."""
        return [message for of_session, message in self._said if of_session != session]

    async def remember(self, session: str, messages: Sequence[Message]) -> None:
        """Keep what was said, not what tools returned."""
        said = [(session, message) for message in messages if message.get("role") in ("user", "assistant")]
        self._said = [*self._said, *said][-self._kept :]

    def dehydrate(self) -> object:
        """Every message with its session."""
        return [[session, message] for session, message in self._said]

    def hydrate(self, state: object) -> None:
        """Take over every message."""
        self._said = [(session, message) for session, message in cast("list[tuple[str, Message]]", state)]


class NamedTools:
    """A policy over tool names: `settings["deny"]` never, `settings["writes"]` the only tools that may write."""

    version = "1"

    def __init__(self, settings: Mapping[str, object], needs: Mapping[str, object]) -> None:
        self._deny = frozenset(cast("list[str]", settings.get("deny", [])))
        self._writes = frozenset(cast("list[str]", settings.get("writes", [])))

    async def decide(self, tool: str, arguments: Mapping[str, object], effect: EffectClass) -> Decision:
        """Whether the tool is among those that may be called."""
        if tool in self._deny:
            return {"decision": "deny", "reasons": [f"{tool} is on the deny list"]}
        if effect == "write" and tool not in self._writes:
            return {"decision": "deny", "reasons": [f"{tool} changes the world and is not on the list of writes"]}
        return {"decision": "allow", "reasons": []}
