"""A row of an airline file as the conversation it tells: turns of a user, rounds of a model, tool calls and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tachograph.producers.harness import Message, ToolCall, tool_calls_of
from tachograph.producers.importers._files import Row
from tachograph.producers.importers._rows import UnusableRow, items, mapping, maybe_mapping, optional_text, text
from tachograph.schemas import EffectClass

WRITES = frozenset(
    {
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "transfer_to_human_agents",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    }
)
"""The airline's tools that change the world."""
_PURE = frozenset({"calculate", "think"})


@dataclass(frozen=True, slots=True)
class Execution:
    """A tool call of the transcript with what came back."""

    call: ToolCall
    result: str | None
    """None: the transcript ends before the result."""

    @property
    def refused(self) -> bool:
        """Whether the airline's answer says that nothing was done."""
        return self.result is not None and self.result.startswith("Error")


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One text of the user and the model's answers to it."""

    text: str
    answers: tuple[Message, ...]
    """Empty when the transcript ends with the user's text."""

    @property
    def answered(self) -> bool:
        """Whether the user gets an answer: the last of the model's answers calls no tool."""
        return bool(self.answers) and not tool_calls_of(self.answers[-1])


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation between a user, a service agent and the airline's tools."""

    task_id: str
    trial: str
    reward: float | None
    """1.0: the task was solved; None: not known."""
    instruction: str
    """What the simulated user was told to want."""
    system: str
    turns: tuple[UserTurn, ...]
    executions: tuple[Execution, ...]

    @property
    def tool_names(self) -> Sequence[str]:
        """Every tool that is called, sorted."""
        return sorted({execution.call.name for execution in self.executions})


def effect_of(tool_name: str) -> EffectClass:
    """What an airline tool does to the world."""
    if tool_name in WRITES:
        return "write"
    return "none" if tool_name in _PURE else "read"


def transcript_of(row: object) -> Transcript:
    """The transcript in a row.

    Raises:
        UnusableRow: it does not tell a conversation that the loop can walk.
    """
    fields = mapping("it", row)
    messages = [mapping(f"traj[{index}]", each) for index, each in enumerate(items("traj", fields.get("traj")))]
    for index, message in enumerate(messages):
        text(f"traj[{index}].role", message.get("role"))
        optional_text(f"traj[{index}].content", message.get("content"))
    system = str(messages.pop(0).get("content") or "") if messages[0]["role"] == "system" else ""
    reward = fields.get("reward")
    return Transcript(
        task_id=str(fields.get("task_id", "?")),
        trial=str(fields.get("trial", "?")),
        reward=float(reward) if isinstance(reward, int | float) else None,
        instruction=_instruction(fields),
        system=system,
        turns=_turns(messages),
        executions=_executions(messages),
    )


def _instruction(fields: Row) -> str:
    task = maybe_mapping(maybe_mapping(fields.get("info")).get("task"))
    return str(task.get("instruction", ""))


def _turns(messages: Sequence[Row]) -> tuple[UserTurn, ...]:
    turns: list[tuple[str, list[Message]]] = []
    open_for_answers = False
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "user":
            if open_for_answers:
                raise UnusableRow(f"message {index} is the user's, but the one before is not answered yet")
            turns.append((str(message.get("content") or ""), []))
            open_for_answers = True
        elif role == "assistant":
            if not open_for_answers:
                raise UnusableRow(f"message {index} is a model's answer that nothing asks for")
            turns[-1][1].append(_assistant(message))
            open_for_answers = bool(tool_calls_of(message))
        elif role != "tool":
            raise UnusableRow(f"message {index} has the role {role!r}")
    if not turns:
        raise UnusableRow("no message is a user's")
    return tuple(UserTurn(said, tuple(answers)) for said, answers in turns)


def _assistant(message: Row) -> Message:
    return {key: value for key, value in message.items() if value is not None or key == "content"}


def _executions(messages: Sequence[Row]) -> tuple[Execution, ...]:
    results = [message for message in messages if message["role"] == "tool"]
    executions: list[Execution] = []
    for message in messages:
        if message["role"] == "assistant":
            executions += [Execution(call, _result(call, results)) for call in tool_calls_of(message)]
    if results:
        raise UnusableRow(f"the result of tool call {results[0].get('tool_call_id')!r} belongs to no call before it")
    return tuple(executions)


def _result(call: ToolCall, results: list[Row]) -> str | None:
    """The first result that is this call's, or that names no call; it is taken off the list."""
    for index, message in enumerate(results):
        if str(message.get("tool_call_id", call.id)) == call.id:
            return str(results.pop(index).get("content") or "")
    return None
