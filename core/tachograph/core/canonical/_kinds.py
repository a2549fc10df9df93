"""Kinds of classes whose values need no codec: enumerations, named tuples, pydantic models and dataclasses.

A value is written as the name of its class and its fields, as they lie in it, and made again without `__new__`,
`__init__`, `__post_init__`, `__setattr__`, validators or factories of its class: none of them runs because a payload says
so.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from types import MemberDescriptorType
from typing import cast

from tachograph.core.canonical._classes import MISSING, attribute, class_named, lineage, name_of, own_of
from tachograph.core.canonical._parts import Kind, Parts
from tachograph.core.canonical._records import Model, Record, fields_of, members_of

_KINDS_MAX = 10_000
"""Classes whose kind is remembered; made-up classes without end must not stay for ever."""


_iterate = cast("Callable[[object], Iterator[object]]", vars(tuple)["__iter__"])
_new_tuple = cast("Callable[[type[object], list[object]], object]", vars(tuple)["__new__"])

_kinds: dict[type[object], Kind] = {}


def kind_for(cls: type[object]) -> Kind | str:
    """The kind of a class, or why its values cannot be recorded."""
    known = _kinds.get(cls)
    if known is not None:
        return known
    found = _kind(cls)
    if isinstance(found, str):
        return found
    if not _is_findable(cls, found.name):
        return f"{found.name} cannot be found by its name: define it at the top of a module"
    if len(_kinds) >= _KINDS_MAX:
        _kinds.clear()
    _kinds[cls] = found
    return found


def made(name: str, fields: object, rest: object) -> object:
    """A value of the class of a name.

    Raises:
        LookupError: no such class is imported.
        ValueError: the class is of no kind whose values are made, or its fields are others.
    """
    cls = class_named(name)
    if cls is None:
        raise LookupError(name)
    kind = kind_for(cls)
    if isinstance(kind, str):
        raise ValueError(kind)  # noqa: TRY004  # it is the text of the refusal
    return kind.made(fields, {} if rest is None else members_of(rest))


def _is_findable(cls: type[object], name: str) -> bool:
    found = class_named(name)
    return found is cls or ("[" in name and found is not None and found in lineage(cls))


def _kind(cls: type[object]) -> Kind | str:
    bases = lineage(cls)
    if enum.Enum in bases:
        return _enumeration(cls)
    if attribute(cls, "__del__") is not MISSING:
        return "its class has a __del__, which would run on a copy, and no codec is registered for it"
    if tuple in bases:
        return _named_tuple(cls, bases)
    if isinstance(attribute(cls, "__pydantic_fields_set__"), MemberDescriptorType):
        return Model(cls).kind()
    if isinstance(attribute(cls, "__dataclass_fields__"), dict):
        return Record(cls, fields_of(cls)).kind()
    return "no codec is registered for it"


def _enumeration(cls: type[object]) -> Kind:
    members = _Members(cls)
    return Kind(name_of(cls), members.parts, members.made)


class _Members:
    """An enumeration: members are written by name, nameless unions of flags by value."""

    def __init__(self, cls: type[object]) -> None:
        self._cls = cls

    def parts(self, value: object) -> Parts:
        """A member's name or, where it has none, its value."""
        member = cast("enum.Enum", value)
        name: object = member._name_  # `name` may be a member or a property of the class
        if self._named(name) is member:
            return Parts(name)
        if not self._has_plain_unions():
            raise ValueError("it is no member of its class by name")
        return Parts(member._value_)

    def made(self, fields: object, _: Mapping[str, object]) -> object:
        """The member of this name or value."""
        if type(fields) is int and self._has_plain_unions():
            return cast("type[enum.Flag]", self._cls)(fields)
        member = self._named(fields)
        if member is MISSING:
            raise ValueError(f"it has no member {fields!r}")
        return member

    def _named(self, name: object) -> object:
        members = cast("dict[object, object]", attribute(self._cls, "_member_map_"))
        return members.get(name, MISSING) if type(name) is str else MISSING

    def _has_plain_unions(self) -> bool:
        """Whether no code but that of `enum` makes members of it."""
        metaclass = cast("object", type(self._cls))
        base = attribute(self._cls, "_member_type_")
        return (
            enum.Flag in lineage(self._cls)
            and attribute(self._cls, "_missing_") is attribute(enum.Flag, "_missing_")
            and metaclass is enum.EnumMeta
            and (base is object or base is int)
        )


def _named_tuple(cls: type[object], bases: tuple[type[object], ...]) -> Kind | str:
    """A class of `collections.namedtuple` or `typing.NamedTuple`, or one derived from it that adds no fields."""
    names = attribute(cls, "_fields")
    if tuple not in bases or type(names) is not tuple or attribute(cls, "_make") is MISSING:
        return "it is a subclass of tuple and no codec is registered for it"
    fields = cast("tuple[str, ...]", names)

    def parts(value: object) -> Parts:
        items = _iterate(value)
        if own_of(value):
            raise ValueError("it has attributes besides its fields")
        return Parts(dict(zip(fields, items, strict=True)))

    def made_again(given: object, _: Mapping[str, object]) -> object:
        values = members_of(given)
        if set(values) != set(fields):
            raise ValueError(f"its fields are {', '.join(fields)}, not {', '.join(map(str, values))}")
        return _new_tuple(cls, [values[name] for name in fields])

    return Kind(name_of(cls), parts, made_again)
