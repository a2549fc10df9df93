"""Recorded exceptions, raised again. No class is imported because a recording names it."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from tachograph.core import errors
from tachograph.core.canonical import decode_body
from tachograph.core.replay import RecordedError

_ROOTS = ("builtins.Exception", "builtins.BaseException")


def rehydrated(
    recorded: RecordedError, known: Iterable[type[BaseException]], taint: Callable[[str], None], main: str = ""
) -> BaseException:
    """The exception as control logic got it; a base class stands in for one that is not to be had.

    Args:
        recorded: what the recording has of it.
        known: classes that the tool declares.
        taint: told when control logic gets something else than it got in the recording.
        main: the module that the entry point is in, which was `__main__` where it was run as a script.
    """
    arguments, attributes = _parts(recorded)
    cls = _find(_importable(recorded.type, main), known)
    if cls is None:
        cls = next(
            (found for base in recorded.bases if (found := _find(_importable(base, main), known)) is not None),
            Exception,
        )
        taint(
            f"control logic was given a {cls.__name__} in place of {recorded.type}, whose class is not imported here: "
            f"name it in the tool's `raises=(…)`"
        )
    error = _made(cls, arguments)
    _restore(error, attributes)
    return error


def _importable(name: str, main: str) -> str:
    """A class's name with the module that this process knows it by."""
    return f"{main}.{name.removeprefix('__main__.')}" if main and name.startswith("__main__.") else name


def _parts(recorded: RecordedError) -> tuple[tuple[object, ...], dict[str, object]]:
    """The exception's `args` and its attributes."""
    if recorded.arguments is None:
        return (recorded.message,), {}
    value = decode_body(recorded.arguments)
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value)
        attributes = parts.get("attributes", {})
        named = cast("dict[str, object]", attributes) if isinstance(attributes, dict) else {}
        return _several(parts.get("args", ())), named
    return _several(value), {}


def _several(value: object) -> tuple[object, ...]:
    return tuple(cast("Sequence[object]", value)) if isinstance(value, list | tuple) else (value,)


def _find(name: str, known: Iterable[type[BaseException]]) -> type[BaseException] | None:
    for cls in known:
        if f"{cls.__module__}.{cls.__qualname__}" == name:
            return cls
    module, _, qualified = name.rpartition(".")
    if module == "builtins":
        return _exception(getattr(builtins, qualified, None))
    if module.startswith(("tachograph.core.errors", "tachograph.schemas")):
        return _exception(getattr(errors, qualified, None))
    return _among_imported(name)


def _among_imported(name: str) -> type[BaseException] | None:
    """A class of a module that is imported already; its qualified name may have dots of its own."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        found: object = sys.modules.get(".".join(parts[:cut]))
        if found is None:
            continue
        for part in parts[cut:]:
            found = vars(found).get(part) if hasattr(found, "__dict__") else None
        return _exception(found)
    return None


def _exception(found: object) -> type[BaseException] | None:
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _made(cls: type[BaseException], arguments: tuple[object, ...]) -> BaseException:
    """An instance without running the class's `__init__`, unless Python itself brings the class."""
    if cls.__module__ == "builtins":
        try:
            return cls(*arguments)
        except TypeError:
            return cls.__new__(cls, *arguments)
    try:
        error = cls.__new__(cls, *arguments)
    except TypeError:
        error = BaseException.__new__(cls)
    error.args = arguments
    return error


def _restore(error: BaseException, attributes: dict[str, object]) -> None:
    for name, value in attributes.items():
        try:
            setattr(error, name, value)
        except (AttributeError, TypeError):
            continue
