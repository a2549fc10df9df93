"""Details of calls as the fields of a fork's events."""

from __future__ import annotations

import dataclasses
from typing import cast

from tachograph.replay_workers._fork_session import ForkSession
from tachograph.schemas import RequestDetails, ResponseDetails


def details_fields(
    fork: ForkSession, details: RequestDetails | ResponseDetails | None
) -> tuple[str, dict[str, object]] | None:
    """Details as the codec takes a union's branch: its name and its fields, every text in them as it may be written."""
    if details is None:
        return None
    return f"tachograph.{type(details).__name__}", cast("dict[str, object]", _plain(fork, details))


def _plain(fork: ForkSession, value: object) -> object:
    if isinstance(value, str):
        return fork.clean(value)
    if isinstance(value, tuple):
        return [_plain(fork, item) for item in cast("tuple[object, ...]", value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(fork, getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value
