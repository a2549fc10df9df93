"""How a refusal finds out where in the payload its value stands, without a path being built for values that are fine."""

from __future__ import annotations

from tachograph.core.canonical._classes import importable
from tachograph.core.errors import UnserialisableValue

_PART_MAX = 80


class Refusal(Exception):
    """A value that cannot be written; each level it passes through adds its part of the path."""

    def __init__(self, value: object, reason: str) -> None:
        super().__init__(reason)
        self.type_name = type_name(value)
        self.reason = reason
        self.parts: list[str] = []

    def under(self, part: str) -> Refusal:
        """This refusal, one level further up."""
        self.parts.append(part)
        return self

    def error(self) -> UnserialisableValue:
        """The error that the caller sees."""
        return UnserialisableValue("$" + "".join(reversed(self.parts)), self.type_name, self.reason)


class TooDeep(Refusal):
    """Too many levels; often because a value contains itself."""


def member(key: object) -> str:
    """The part of a path for a key."""
    if type(key) is str and key.isidentifier() and len(key) <= _PART_MAX:
        return "." + key
    text = ascii(key) if type(key) in (str, int, float, bool, bytes) else f"<{type_name(key)}>"
    return f"[{text if len(text) <= _PART_MAX else text[:_PART_MAX] + '…'}]"


def type_name(value: object) -> str:
    """The class of a value: `str`, or `package.module.Class`, that of a script as another process knows it."""
    kind = type(value)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{importable(kind.__module__)}.{kind.__qualname__}"
