"""The parts that histories are made of: values, calls and endings as written in the one-line language."""

from __future__ import annotations

import ast
import re

from tachograph.core.canonical import Digester, encode_body, make_body
from tachograph.schemas import Body, CallOutcome, EffectState, EndOutcome, Error

KINDS = ("model", "tool", "retrieval", "memory", "policy", "approval", "clock", "random", "id")

EFFECT_ENDS = {
    "CONFIRMED": (CallOutcome.OK, EffectState.CONFIRMED),
    "RECEIPTED": (CallOutcome.OK, EffectState.CONFIRMED),
    "FAILED": (CallOutcome.ERROR, EffectState.FAILED),
    "UNKNOWN": (CallOutcome.UNKNOWN, EffectState.UNKNOWN),
}

_DIGESTER = Digester(b"histories" * 4)
_ENDING = re.compile(r"\s+(=.*|!\s*\S+|~)\Z", re.DOTALL)


def body(value: object) -> Body:
    """A value as an inline body."""
    return body_of(encode_body(value))


def body_of(data: bytes) -> Body:
    """Canonical bytes as an inline body."""
    made, chunks = make_body(data, redacted=False, digester=_DIGESTER)
    assert not chunks, "a history's values are small"
    return made


def inline(made: Body, event_id: str) -> bytes:
    """Reads the bodies of histories: the second argument of `steps_of`."""
    assert made.inline is not None, event_id
    return made.inline


def split_call(text: str) -> tuple[str, str]:
    """`NAME(ARGS)` and what stands behind it."""
    found = _ENDING.search(text)
    return (text[: found.start()], found.group(1)) if found else (text, "")


def named(call: str) -> tuple[str, object]:
    """The name of `NAME(ARGS)` and its arguments as they are recorded; a bare NAME has none."""
    if "(" not in call:
        return call.strip(), None
    parsed = ast.parse(call.strip(), mode="eval").body
    assert isinstance(parsed, ast.Call), call
    positional = [ast.literal_eval(argument) for argument in parsed.args]
    by_name = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in parsed.keywords}
    return ast.unparse(parsed.func), {"args": positional, "kwargs": by_name}


def coming_back(text: str) -> tuple[CallOutcome, object, Error | None]:
    """How a call ended: `= VALUE`, `! ERROR`, `~` (cancelled), or nothing for None."""
    if text.startswith("!"):
        return CallOutcome.ERROR, None, error(text[1:].strip())
    if text == "~":
        return CallOutcome.CANCELLED, None, error("CancelledError", "asyncio.exceptions")
    return CallOutcome.OK, _value(text), None


def ending(text: str) -> tuple[EndOutcome, object, Error | None]:
    """How a stream ended, in the same words."""
    outcome, value, failure = coming_back(text)
    return EndOutcome(outcome.value), value, failure


def assigned(text: str) -> tuple[str, Body]:
    """`KEY = VALUE`."""
    name, _, value = text.partition("=")
    return name.strip(), body(ast.literal_eval(value.strip()))


def error(kind: str, module: str = "builtins") -> Error:
    """An error that was raised."""
    return Error(f"{module}.{kind}", ("builtins.Exception",), f"{kind} it was", None)


def _value(text: str) -> object:
    written = text.removeprefix("=").strip()
    return ast.literal_eval(written) if written else None
