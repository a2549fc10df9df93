"""Steps in words."""

from __future__ import annotations

from tachograph.core.canonical import JsonValue
from tachograph.core.replay._fields import shorten, shown_value, text_of
from tachograph.core.replay._values import Step

ARGUMENTS_CHARACTERS_MAX = 80
"""Arguments in a sentence are cut to this length."""


def doing(step: Step, limit: int = ARGUMENTS_CHARACTERS_MAX) -> str:
    """What a step does, in the third person: `calls send_mail("a@x")`."""
    plain = _PLAIN.get(step.kind)
    if plain is not None:
        return plain.format(name=repr(step.name))
    if step.kind == "end":
        return f"ends {_ending(step, limit)}"
    if step.kind in _WITH_PAYLOAD:
        return _WITH_PAYLOAD[step.kind].format(name=repr(step.name), payload=_payload(step, limit))
    return f"{_VERBS[step.kind]} {plainly(step.name)}({arguments(step, limit)})"


def doing_short(step: Step) -> str:
    """The same without the payload."""
    if step.kind == "end":
        return "ends"
    if step.kind in _WITH_PAYLOAD:
        return _WITHOUT_PAYLOAD[step.kind].format(name=repr(step.name))
    return f"{_VERBS[step.kind]} {plainly(step.name)}" if step.kind in _VERBS else doing(step)


def arguments(step: Step, limit: int) -> str:
    """A call's arguments as they would be written in code."""
    value = shown_value(step.arguments)
    if isinstance(value, dict) and value.keys() == {"args", "kwargs"}:
        return shorten(", ".join(_written(value)), limit)
    return "" if value is None else shorten(text_of(value), limit)


def _written(value: dict[str, JsonValue]) -> list[str]:
    positional, named = value["args"], value["kwargs"]
    texts = [text_of(item) for item in positional] if isinstance(positional, list) else []
    if isinstance(named, dict):
        texts += [f"{plainly(name)}={text_of(item)}" for name, item in named.items()]
    return texts


def _payload(step: Step, limit: int) -> str:
    return shorten(text_of(shown_value(step.arguments)), limit)


def _ending(step: Step, limit: int) -> str:
    value = shown_value(step.arguments)
    if not isinstance(value, dict):
        return f"with {shorten(text_of(value), limit)}"
    error = value.get("error")
    if isinstance(error, dict):
        kind = plainly(str(error.get("type", "")).removeprefix("builtins."))
        return f"with {kind}: {shorten(plainly(str(error.get('message', ''))), limit)}"
    if value.get("outcome") == "CANCELLED":
        return "cancelled"
    result = value.get("result")
    return "without a result" if result is None else f"with the result {shorten(text_of(result), limit)}"


def place(agent_id: str, step: int) -> str:
    """Where it is, to start a sentence with."""
    return f"At step {step} of agent {agent_id!r}"


def plainly(text: str) -> str:
    """Text in one line: what cannot be printed is written out."""
    return text if text.isprintable() else repr(text)[1:-1]


def times(count: int) -> str:
    """How often."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


_PLAIN = {
    "clock": "reads the clock",
    "random": "draws from the random stream {name}",
    "id": "makes a new id {name}",
    "messages": "waits for a message",
    "agent": "opens the agent {name}",
}
_WITH_PAYLOAD = {
    "send": "sends to {name} {payload}",
    "state": "sets the state {name} to {payload}",
    "checkpoint": "sets the checkpoint {name} with {payload}",
    "artifact": "writes the artifact {name}: {payload}",
}
_WITHOUT_PAYLOAD = {
    "send": "sends to {name}",
    "state": "sets the state {name}",
    "checkpoint": "sets the checkpoint {name}",
    "artifact": "writes the artifact {name}",
}
_VERBS = {
    "tool": "calls",
    "model": "asks the model",
    "retrieval": "retrieves by",
    "memory": "uses the memory by",
    "policy": "asks the policy",
    "approval": "asks for approval by",
}
