"""Classes found by name, and looked at, without running anything of theirs.

A name is `module:Qualname`. Only modules that are imported already are looked into, and everything is read from the
dictionaries of modules and classes: no attribute hook, property, metaclass or proxy gets a say.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import TypeAlias, cast

_MRO = cast("MemberDescriptorType", type.__dict__["__mro__"])
_DICT = cast("GetSetDescriptorType", type.__dict__["__dict__"])
_MAIN = "__main__"
_MAIN_SPAWNED = "__mp_main__"
"""What multiprocessing calls the same module in a process that it started."""

_NAME_CHARACTERS_MAX = 500

MISSING = object()
"""No such attribute."""


def lineage(cls: type[object]) -> tuple[type[object], ...]:
    """A class and its bases in the order in which attributes are looked up."""
    return cast("tuple[type[object], ...]", _MRO.__get__(cls))


def attribute(cls: type[object], name: str) -> object:
    """What a class or the nearest of its bases holds under a name, as it lies there; MISSING if none does."""
    for base in lineage(cls):
        own = cast("dict[str, object]", _DICT.__get__(base))
        if name in own:
            return own[name]
    return MISSING


def name_of(cls: type[object]) -> str:
    """The name under which another process finds the class; a script's classes have the script's name."""
    return f"{importable(cls.__module__)}:{cls.__qualname__}"


def class_named(name: str) -> type[object] | None:
    """The class of a name, if its module is imported and holds it; a class that was made of a generic one, too."""
    module_name, _, qualified = name.partition(":")
    if len(name) > _NAME_CHARACTERS_MAX or not qualified:
        return None
    module = cast("object", sys.modules.get(_MAIN if module_name == main_name() else module_name))
    if not issubclass(type(module), ModuleType):
        return None
    held = cast("dict[str, object]", ModuleType.__getattribute__(cast("ModuleType", module), "__dict__"))
    if "[" in qualified and qualified not in held:
        return _made_of(_within(held, qualified.partition("[")[0]), qualified)
    return _within(held, qualified)


def main_name() -> str | None:
    """The name under which another process imports what runs as `__main__` here; None where it cannot."""
    module = sys.modules.get(_MAIN)
    spec = getattr(module, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(module, "__file__", None)
    stem = Path(file).stem if isinstance(file, str) else ""
    return stem if stem.isidentifier() else None


def importable(module_name: str) -> str:
    """The name under which another process imports a module; `__main__` where it cannot."""
    return (main_name() or _MAIN) if module_name in (_MAIN, _MAIN_SPAWNED) else module_name


Slot: TypeAlias = MemberDescriptorType | GetSetDescriptorType


def slot_of(cls: type[object], name: str) -> Slot | None:
    """The slot of a class under a name, `__dict__` and what C types have included."""
    found = attribute(cls, name)
    return found if type(found) in (MemberDescriptorType, GetSetDescriptorType) else None  # type: ignore[return-value]


def slot_value(slot: Slot, value: object) -> object:
    """What a value holds in a slot; MISSING if nothing."""
    try:
        return cast("object", slot.__get__(value, type(value)))
    except AttributeError:
        return MISSING


def own_of(value: object) -> dict[str, object]:
    """A value's own dictionary; an empty one where it has none."""
    slot = slot_of(type(value), "__dict__")
    return {} if slot is None else cast("dict[str, object]", slot.__get__(value, type(value)))


def _within(held: dict[str, object], qualified: str) -> type[object] | None:
    found = held.get(qualified, MISSING)
    if found is not MISSING:
        return _class(found)
    cls: type[object] | None = None
    for part in qualified.split("."):
        cls = _class(held.get(part))
        if cls is None:
            return None
        held = cast("dict[str, object]", _DICT.__get__(cls))
    return cls


def _class(found: object) -> type[object] | None:
    return cast("type[object]", found) if issubclass(type(found), type) else None


def _made_of(generic: type[object] | None, qualified: str) -> type[object] | None:
    """The class `Generic[…]` where this process has made it already, else the generic class, which equals it."""
    if generic is None:
        return None
    made = (cls for cls in type.__subclasses__(generic) if _is_made(cls, generic, qualified))
    return next(made, generic)


def _is_made(cls: type[object], generic: type[object], qualified: str) -> bool:
    return cls.__module__ == generic.__module__ and cls.__qualname__ == qualified
