"""The outside of a transcript: a model, a user and tools that say what theirs said. A replay asks none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tachograph.core.boundary import Receipted, tool
from tachograph.core.errors import InternalError
from tachograph.producers.harness import Factory, Message, ToolRefused, ToolRow
from tachograph.producers.importers._airline_rows import Execution, Transcript, effect_of


class ResultNotRecorded(Exception):
    """The transcript ends before this tool's result: nobody knows what it was."""


class TranscriptModel:
    """Gives the model's answers in their order."""

    def __init__(self, transcript: Transcript) -> None:
        self._answers: Iterator[Message] = iter([answer for turn in transcript.turns for answer in turn.answers])

    async def complete(
        self, *, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], **parameters: object
    ) -> Message:
        """The next answer of the transcript."""
        return next(self._answers)


class TranscriptTools:
    """Gives the tools' results in their order."""

    def __init__(self, transcript: Transcript) -> None:
        self._names = transcript.tool_names
        self._executions: Iterator[Execution] = iter(
            [execution for execution in transcript.executions if execution.call.fault is None]
        )

    def catalogue(self) -> Sequence[ToolRow]:
        """The tools that the transcript calls; it does not say what others were on offer."""
        return [{"name": name, "effect": effect_of(name)} for name in self._names]

    async def execute(self, name: str, arguments: Mapping[str, object]) -> object:
        """The next result of the transcript; what a write tool answered is all the receipt there is."""
        execution = next(self._executions)
        call = execution.call
        if call.name != name:
            raise InternalError(f"the transcript's next tool call is {call.name!r}, the loop makes {name!r}")
        if execution.result is None:
            raise ResultNotRecorded(f"the transcript ends before the result of {name!r}")
        if execution.refused:
            raise ToolRefused(execution.result)
        if effect_of(name) != "write":
            return execution.result
        return Receipted(execution.result, {"tool_call_id": call.id, "answer": execution.result})


class TranscriptUser:
    """Says the user's texts in their order."""

    def __init__(self, transcript: Transcript) -> None:
        self._texts = iter([turn.text for turn in transcript.turns])

    @tool(name="user")
    async def complete(self, *, messages: Sequence[Message]) -> Message:
        """The user's next text."""
        return {"role": "assistant", "content": next(self._texts)}


def model_factory(transcript: Transcript) -> Factory:
    """Makes the transcript's model."""
    return lambda settings, needs: TranscriptModel(transcript)


def tools_factory(transcript: Transcript) -> Factory:
    """Makes the transcript's tools."""
    return lambda settings, needs: TranscriptTools(transcript)
