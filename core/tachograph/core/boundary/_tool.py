"""The `tool` decorator: what the boundary must know of a function, kept beside the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType, MethodType
from typing import TypeVar, overload

from tachograph.core.errors import InvalidSetting
from tachograph.schemas import EffectClass

Function = TypeVar("Function", bound=Callable[..., object])

_ATTRIBUTE = "__tachograph_tool__"
_EFFECTS = ("none", "read", "write")


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the boundary knows of a tool."""

    name: str
    effect: EffectClass = "none"
    version: str | None = None
    idempotency_key: Callable[..., str] | None = None
    """Called with the tool's own arguments; gives the key under which the effect happens at most once."""
    unknown: tuple[type[BaseException], ...] = ()
    failed: tuple[type[BaseException], ...] = ()
    raises: tuple[type[BaseException], ...] = ()
    permission: Callable[..., object] | None = None
    """Called with the tool's own arguments; gives the action that must have been approved."""


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(
    *,
    effect: EffectClass = "none",
    name: str | None = None,
    version: str | None = None,
    idempotency_key: Callable[..., str] | None = None,
    unknown: tuple[type[BaseException], ...] = (),
    failed: tuple[type[BaseException], ...] = (),
    raises: tuple[type[BaseException], ...] = (),
    permission: Callable[..., object] | None = None,
) -> Callable[[Function], Function]: ...
def tool(  # noqa: PLR0913 what is declared, and all that may be said of it
    function: Function | None = None,
    /,
    *,
    effect: EffectClass = "none",
    name: str | None = None,
    version: str | None = None,
    idempotency_key: Callable[..., str] | None = None,
    unknown: tuple[type[BaseException], ...] = (),
    failed: tuple[type[BaseException], ...] = (),
    raises: tuple[type[BaseException], ...] = (),
    permission: Callable[..., object] | None = None,
) -> Function | Callable[[Function], Function]:
    """Declare a function as a tool: `@tool`, or `@tool(effect="write", …)`.

    Args:
        function: given where the decorator is used without parentheses.
        effect: `none`, `read` (reads the outside) or `write` (changes it: an effect, kept in the ledger).
        name: the tool's name in the recording; by default the function's.
        version: version of the tool's behaviour, recorded with every call.
        idempotency_key: called with the tool's arguments; equal keys mean the same effect.
        unknown: exceptions after which nobody knows whether the effect happened.
        failed: exceptions that prove that it did not happen. Every other exception of an effect means UNKNOWN.
        raises: exception classes that a replay may have to raise again.
        permission: called with the tool's arguments; gives what `approval(…, action_digest=…)` was asked for, so that an
            effect without it, after its expiry or against a refusal is found.

    Raises:
        InvalidSetting: `effect` is none of the three, or what is declared is no function.
    """
    if function is not None and not callable(function):
        raise InvalidSetting("tool", function, "it is no function; a name is given as `@tool(name=…)`")
    if effect not in _EFFECTS:
        raise InvalidSetting("effect", effect, "it must be 'none', 'read' or 'write'")

    def declare(function: Function) -> Function:
        spec = ToolSpec(
            name=name or function.__name__,
            effect=effect,
            version=version,
            idempotency_key=idempotency_key,
            unknown=unknown,
            failed=failed,
            raises=raises,
            permission=permission,
        )
        setattr(function, _ATTRIBUTE, spec)
        return function

    return declare if function is None else declare(function)


def spec_of(function: Callable[..., object]) -> ToolSpec:
    """What is known of a function: its declaration, or its bare name."""
    plain: object = getattr(function, "__func__", function) if type(function) is MethodType else function
    # Looked up where it is kept: on the path of every call, an attribute that is not there is dear to ask for.
    declared = plain.__dict__.get(_ATTRIBUTE) if isinstance(plain, FunctionType) else getattr(plain, _ATTRIBUTE, None)
    if isinstance(declared, ToolSpec):
        return declared
    return _bare(plain.__qualname__ if isinstance(plain, FunctionType) else _name_of(function))


@lru_cache(maxsize=1024)
def _bare(name: str) -> ToolSpec:
    return ToolSpec(name=name.replace("<locals>.", "").replace("<lambda>", "lambda"))


def _name_of(function: Callable[..., object]) -> str:
    inner = getattr(function, "func", function)  # functools.partial
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    return str(name)
