"""Values that hold fields: dataclasses and pydantic models, read as they lie and made again without code of theirs.

pydantic's models are known by their slots; pydantic itself is never imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import GenericAlias, MemberDescriptorType
from typing import TYPE_CHECKING, cast

from tachograph.core.canonical._classes import (
    MISSING,
    Slot,
    attribute,
    lineage,
    name_of,
    own_of,
    slot_of,
    slot_value,
)
from tachograph.core.canonical._parts import Kind, Parts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_HEAP_TYPE = 1 << 9
"""The flag of classes that are made by a class statement, and thus by `object.__new__`."""


class Record:
    """A class whose values hold fields: in slots, or in a dictionary of their own."""

    def __init__(self, cls: type[object], fields: Mapping[str, object]) -> None:
        self.cls = cls
        self.name = name_of(cls)
        self._fields = fields
        self._slots = {name: slot for name in fields if (slot := slot_of(cls, name)) is not None}
        self._has_dict = slot_of(cls, "__dict__") is not None

    def kind(self) -> Kind | str:
        """The kind, or why there is none."""
        built_in = next((base for base in lineage(self.cls)[:-1] if not base.__flags__ & _HEAP_TYPE), None)
        if built_in is not None:
            return f"it is a subclass of {built_in.__name__} and no codec is registered for it"
        return Kind(self.name, self.parts, self.made)

    def parts(self, value: object) -> Parts:
        """Its fields in order, and attributes of its own that hide nothing of its class."""
        return Parts(self.held(value))

    def held(self, value: object) -> dict[str, object]:
        """What the value holds, by name."""
        own = own_of(value)
        found: dict[str, object] = {}
        for name in self._fields:
            item = slot_value(self._slots[name], value) if name in self._slots else own.get(name, MISSING)
            if item is not MISSING:
                found[name] = item
        found.update((name, item) for name, item in own.items() if name not in found and self._is_free(name))
        return found

    def made(self, fields: object, rest: Mapping[str, object]) -> object:
        """A value with these fields; a dataclass has nothing else."""
        if rest:
            raise ValueError("it is not what is written of a dataclass")
        return self.filled(fields)

    def filled(self, fields: object) -> object:
        """A value that holds these, and simple defaults for fields that the class got since."""
        given = members_of(fields)
        value = object.__new__(self.cls)
        own: dict[str, object] = {}
        for name in [*given, *(name for name in self._fields if name not in given)]:
            item = given[name] if name in given else _default(self._fields[name])
            if item is MISSING:
                continue
            if name in self._slots:
                self._slots[name].__set__(value, item)
            elif self._has_dict and (name in self._fields or self._is_free(name)):
                own[name] = item
            else:
                raise ValueError(f"it has no field {name!r}")
        own_of(value).update(own)
        return value

    def _is_free(self, name: str) -> bool:
        return attribute(self.cls, name) is MISSING


class Model(Record):
    """A pydantic model: fields in its dictionary, and up to three slots besides."""

    def __init__(self, cls: type[object]) -> None:
        declared = attribute(cls, "__pydantic_fields__")
        if declared is MISSING:
            declared = attribute(cls, "model_fields")  # before pydantic 2.10
        super().__init__(cls, {} if declared is MISSING else members_of(declared))
        config = attribute(cls, "model_config")
        self._has_extra = config is not MISSING and members_of(config).get("extra") == "allow"
        self._set = slot_of(cls, "__pydantic_fields_set__")
        self._extra = slot_of(cls, "__pydantic_extra__")
        self._private = slot_of(cls, "__pydantic_private__")

    def kind(self) -> Kind | str:
        """The kind, or why there is none."""
        if attribute(self.cls, "model_dump") is MISSING or attribute(self.cls, "model_validate") is MISSING:
            return "no codec is registered for it"
        return super().kind()

    def parts(self, value: object) -> Parts:
        """Its fields, and what else makes two models equal: fields set, extra and private values."""
        fields = self.held(value)
        rest: dict[str, object] = {}
        extra = self._held_in(self._extra, value)
        if extra or (extra is None) is self._has_extra:
            rest["extra"] = extra
        private = self._held_in(self._private, value)
        if private is not None:
            rest["private"] = private
        names = MISSING if self._set is None else slot_value(self._set, value)
        were_set = cast("set[str]", names) if type(names) is set else set(fields)
        if were_set != {*fields, *(extra or ())}:
            rest["set"] = sorted(were_set)
        return Parts(fields, rest or None)

    def _held_in(self, slot: Slot | None, value: object) -> dict[str, object] | None:
        held = MISSING if slot is None else slot_value(slot, value)
        if held is MISSING or held is None:
            return None
        return {key: item for key, item in members_of(held).items() if not _is_undefined(item)}

    def made(self, fields: object, rest: Mapping[str, object]) -> object:
        """A model with these fields; no validator runs."""
        if not {*rest} <= {"set", "extra", "private"}:
            raise ValueError("it is not what is written of a model")
        value = self.filled(fields)
        extra = rest.get("extra", {} if self._has_extra else None)
        private = rest.get("private")
        names = rest.get("set")
        were_set = [*members_of(fields), *members_of(extra or {})] if names is None else _names(names)
        _put(self._set, value, set(were_set))
        _put(self._extra, value, None if extra is None else members_of(extra))
        _put(self._private, value, None if private is None else members_of(private))
        return value


def _names(names: object) -> list[str]:
    if type(names) is not list or not all(type(name) is str for name in cast("list[object]", names)):
        raise ValueError("the fields that were set are not given by name")
    return cast("list[str]", names)


def _put(slot: Slot | None, value: object, item: object) -> None:
    if slot is not None:
        slot.__set__(value, item)


def fields_of(cls: type[object]) -> Mapping[str, object]:
    """A dataclass's fields, less those that a descriptor of the class keeps elsewhere."""
    fields = dataclasses.fields(cast("type[DataclassInstance]", cls))
    return {field.name: field for field in fields if not _is_kept_elsewhere(cls, field.name)}


def _is_kept_elsewhere(cls: type[object], name: str) -> bool:
    held = attribute(cls, name)
    return (
        held is not MISSING
        and not isinstance(held, MemberDescriptorType)
        and attribute(type(held), "__set__") is not MISSING
    )


def members_of(value: object) -> dict[str, object]:
    """What is given by name.

    Raises:
        ValueError: it is not.
    """
    if type(value) is not dict:
        raise ValueError("its fields are not given by name")
    return cast("dict[str, object]", value)


_SIMPLE = (type(None), bool, int, float, str)
_FACTORIES: tuple[Callable[[], object], ...] = (list, dict, set)


def _default(field: object) -> object:
    """A field's default where it is a constant or an empty container; nothing else is run or shared."""
    default = getattr(field, "default", MISSING)
    if type(default) in _SIMPLE:
        return default
    factory: object = getattr(field, "default_factory", None)
    if type(factory) is GenericAlias:
        factory = factory.__origin__
    return next((simple() for simple in _FACTORIES if simple is factory), MISSING)


def _is_undefined(value: object) -> bool:
    """Whether it is what pydantic puts where there is no value."""
    return type(value).__name__ == "PydanticUndefinedType"
