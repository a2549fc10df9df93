"""Ids that serve as keys, as text and as parts of paths."""

from __future__ import annotations

import re
from typing import NamedTuple

from tachograph.core.errors import InvalidIdentifier

ID_CHARACTERS_MAX = 200

_PART = re.compile(r"[A-Za-z0-9._\-:@]+")
_EVENT_ID = re.compile(r"([^/#]+)/([^#]+)#(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})")


def check_id(what: str, value: str) -> str:
    """An id that can be a key, a text and a path below a directory.

    Args:
        what: what it identifies, as in `run id`; only the parts of an `agent id` may be divided by `/`.
        value: the id.

    Returns:
        The id.

    Raises:
        InvalidIdentifier: it cannot.
    """
    reason = _why_not(what, value)
    if reason is not None:
        raise InvalidIdentifier(what, value[: ID_CHARACTERS_MAX + 1], reason)
    return value


def _why_not(what: str, value: str) -> str | None:
    if not value:
        return "it is empty"
    if len(value) > ID_CHARACTERS_MAX:
        return f"it has {len(value)} characters"
    parts = value.split("/") if _divisible(what) else [value]
    for part in parts:
        if not part:
            return "a part of it is empty"
        if part.strip(".") == "":
            return f"{part!r} would lead to another directory"
        if not _PART.fullmatch(part):
            return f"it holds {next(c for c in part if not _PART.fullmatch(c))!r}"
    return None


def _divisible(what: str) -> bool:
    return "agent" in what


class EventId(NamedTuple):
    """Identifies an event; its text is `RUN/AGENT#INCARNATION.SEQ`."""

    run_id: str
    agent_id: str
    incarnation: int
    seq: int

    def __str__(self) -> str:
        return f"{self.run_id}/{self.agent_id}#{self.incarnation}.{self.seq}"

    @classmethod
    def parse(cls, text: str) -> EventId:
        """The inverse of `str`.

        Raises:
            InvalidIdentifier: it is no event id.
        """
        match = _EVENT_ID.fullmatch(text)
        if match is None:
            raise InvalidIdentifier("event id", text, "it is not of the form RUN/AGENT#INCARNATION.SEQ")
        run_id, agent_id, incarnation, seq = match.groups()
        return cls(check_id("run id", run_id), check_id("agent id", agent_id), int(incarnation), int(seq))
