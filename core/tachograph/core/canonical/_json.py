"""JSON as values."""

from __future__ import annotations

from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""What JSON can say."""

DEPTH_MAX = 64
"""Containers within each other; a payload deeper than this is a mistake or an attack."""

TAGGED_DEPTH_MAX = 3 * DEPTH_MAX
"""A level becomes at most three of JSON, `{"$dict": [[key, value]]}`; orjson writes up to 254."""

ITEMS_MAX = 1_000_000
"""Values in one payload, shared ones counted each time: ends what a few shared lists within each other would blow up."""

INTEGER_MAX = 2**53 - 1
"""Largest integer that every reader of JSON keeps exactly (RFC 7493)."""
