"""What of a spool was left out: one line of a file for each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args

import orjson

from tachograph.stores.shipping._follow import BEGINNING, Position

STUCK_NAME: Final = "stuck.jsonl"

StuckReason = Literal["too_large", "refused", "unknown_schema", "corrupt", "body_missing", "damaged"]
"""The kinds of reasons; metrics have them as labels."""

STUCK_REASONS: Final[tuple[StuckReason, ...]] = get_args(StuckReason)

_BODY: Final = "body "


@dataclass(frozen=True, slots=True)
class Stuck:
    """An event, or a body, that could not be shipped, and why; it stays in the spool."""

    what: str
    """The event's id, or what else it is."""
    hash: str
    """The event's, as hexadecimal; empty where there is none."""
    reason: str
    """For a person."""
    kind: StuckReason = "refused"
    at: Position = BEGINNING
    """From where the event is to be looked for; it lies not far behind."""

    @classmethod
    def of_body(cls, key: bytes) -> Stuck:
        """A body that is not where it should be carried from."""
        return cls(f"{_BODY}{key.hex()}", "", "it is not in the home's object store", "body_missing")

    @property
    def body(self) -> bytes:
        """The key, of a body."""
        return bytes.fromhex(self.what.removeprefix(_BODY))

    @property
    def can_be_tried(self) -> bool:
        """Whether trying again may help: bytes that are not what was written will not be."""
        return bool(self.hash) or self.kind == "body_missing"


def line_of(stuck: Stuck) -> bytes:
    """As it stands in the file."""
    fields = {name: getattr(stuck, name) for name in ("what", "hash", "reason", "kind")}
    return orjson.dumps({**fields, "at": list(stuck.at)}) + b"\n"


def stuck_of(spool: Path) -> list[Stuck]:
    """What of a spool was left out; a line that cannot be read, as a crash leaves it, is passed over."""
    try:
        lines = (spool / STUCK_NAME).read_bytes().splitlines()
    except OSError:
        return []
    return [stuck for line in lines if (stuck := _parsed(line)) is not None]


def _parsed(line: bytes) -> Stuck | None:
    try:
        read = cast("dict[str, str]", orjson.loads(line))
        what, hash_, reason = read["what"], read["hash"], read["reason"]
        number, offset, crc = cast("list[int]", read.get("at", list(BEGINNING)))
        bytes.fromhex(hash_)
    except (ValueError, KeyError, TypeError):
        return None
    named = read.get("kind")
    kind = named if named in STUCK_REASONS else _kind_by(what, hash_)
    return Stuck(what, hash_, reason, kind, Position(number, offset, crc))


def _kind_by(what: str, hash_: str) -> StuckReason:
    """Of a line that an earlier release wrote."""
    if hash_:
        return "refused"
    return "body_missing" if what.startswith(_BODY) else "damaged"
