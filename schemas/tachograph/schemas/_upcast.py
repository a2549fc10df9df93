"""Turns what older releases wrote into what this one reads: one pure step per version, never written back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tachograph.schemas import _events
from tachograph.schemas._registry import SchemaEntry, current

Fields: TypeAlias = "Mapping[str, object]"
"""A record's fields: parts whose class still has the same fields are of that class, others are fields themselves."""

Upcast: TypeAlias = "Callable[[Fields], Fields]"


def upcast(entry: SchemaEntry, fields: Fields) -> Fields:
    """The fields of the current version of the type, from those of the version that `entry` names."""
    for version in range(entry.version, current()[entry.type].version):
        fields = UPCASTS[f"{entry.type}/{version}"](fields)
    return fields


def _call_finished_1(fields: Fields) -> Fields:
    """Version 1 did not count loop turns, so every delivery counts as apart, and it had to record each result."""
    return {**fields, "gap": _events.GAP_MAX, "unrecorded": None}


UPCASTS: Mapping[str, Upcast] = {"CallFinished/1": _call_finished_1}
"""The step from each past version to the one after it, by the tag of the older."""
