"""Finds the class or closed set that a named schema stands for."""

from __future__ import annotations

from tachograph.schemas import _details, _events, _parts

_MODULES = (_parts, _details, _events)


def class_named(name: str) -> object:
    """The dataclass, enum or literal of this name."""
    return next(vars(module)[name] for module in _MODULES if name in vars(module))
