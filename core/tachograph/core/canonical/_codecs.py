"""Codecs that users register by name; nothing is ever imported because a payload names it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from tachograph.core.errors import InvalidSetting

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}")


@dataclass(frozen=True, slots=True)
class Codec:
    """How values of one class are written and read."""

    name: str
    cls: type[object]
    to_plain: Callable[[object], object]
    from_plain: Callable[[object], object]


_by_class: dict[type[object], Codec] = {}
_by_name: dict[str, Codec] = {}


def register_codec(name: str, cls: type[T], to_plain: Callable[[T], object], from_plain: Callable[[object], T]) -> None:
    """Make values of exactly this class recordable.

    Args:
        name: what stands in the record for the class; keep it when the class moves or is renamed.
        cls: the class; subclasses need codecs of their own.
        to_plain: a value as plain data (anything recordable, other codecs' values included).
        from_plain: the inverse. For an enumeration: `to_plain=lambda member: member.value, from_plain=cls`.

    Raises:
        InvalidSetting: the name is malformed or belongs to another class, or the class needs no codec.
    """
    if not _NAME.fullmatch(name):
        raise InvalidSetting("codec name", name, "use 1 to 100 letters, digits, '_', '.', ':', '/' or '-'")
    _refuse_built_in(name, cls)
    _refuse_taken(name, cls)
    codec = Codec(name, cls, cast("Callable[[object], object]", to_plain), from_plain)
    _by_class[cls] = codec
    _by_name[name] = codec


def _refuse_built_in(name: str, cls: type[object]) -> None:
    from tachograph.core.canonical._tags import BUILT_IN

    if cls in BUILT_IN:
        raise InvalidSetting(f"codec {name!r} for", cls.__name__, "values of this class are recorded as they are")


def _refuse_taken(name: str, cls: type[object]) -> None:
    """A class that was loaded anew takes its predecessor's place; any other class may not."""
    before = _by_name.get(name)
    if before is not None and _home(before.cls) != _home(cls):
        raise InvalidSetting("codec name", name, f"it belongs to {_home(before.cls)}; choose another name")
    other = _by_class.get(cls)
    if other is not None and other.name != name:
        raise InvalidSetting("codec name", name, f"{_home(cls)} already has the codec {other.name!r}")


def _home(cls: type[object]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def codec_for(cls: type[object]) -> Codec | None:
    """The codec of a class."""
    return _by_class.get(cls)


def codec_named(name: str) -> Codec | None:
    """The codec under a name."""
    return _by_name.get(name)
