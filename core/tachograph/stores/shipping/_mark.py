"""How far a spool was shipped, what of it was refused, and who ships it: three files in its directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import orjson

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import lock, reason_of, sync_directory, write_all, write_temporary
from tachograph.stores._forks import close_in_children
from tachograph.stores._referred import BODIES_NAME
from tachograph.stores.shipping._bodies import KEY_BYTES
from tachograph.stores.shipping._follow import BEGINNING, Position
from tachograph.stores.shipping._stuck import STUCK_NAME, Stuck, line_of, stuck_of

_FORMAT: Final = 1
_SHIPPED, _SHIPPER = "shipped.json", "shipper"


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a spool was shipped. What lies before it is acknowledged, or named in the list of stuck events."""

    position: Position = BEGINNING
    bodies: int = 0
    """Bytes of the list of bodies that were carried."""
    events: int = 0
    """Shipped so far."""
    is_done: bool = False
    """Its writer is dead and nothing is left."""


class Shipment:
    """What a shipper keeps of a spool. While one is open, nobody else ships the spool.

    Args:
        spool: the spool's directory.
        topic: where it is shipped to; what was shipped elsewhere does not count.
    """

    def __init__(self, spool: Path, topic: str) -> None:
        self.path = spool
        self._topic = topic
        self._descriptor = -1
        self._stuck: dict[tuple[str, str], Stuck] = {}

    def open(self) -> bool:
        """Take the spool; False: somebody else ships it.

        Raises:
            StoreUnavailable: the operating system refuses.
        """
        try:
            self._descriptor = os.open(self.path / _SHIPPER, os.O_RDWR | os.O_CREAT, 0o644)
            taken = lock(self._descriptor)
        except OSError as error:
            raise StoreUnavailable(str(self.path), reason_of(error)) from error
        if not taken:
            self.close()
            return False
        close_in_children(self)
        self._stuck = {(each.what, each.hash): each for each in stuck_of(self.path)}
        return True

    def close(self) -> None:
        """Let go of the spool; closing twice is as closing once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def abandon(self) -> None:
        """In a forked child: the spool is the parent's to ship."""
        self.close()

    def mark(self) -> Mark:
        """How far the spool was shipped to the topic."""
        return mark_of(self.path, self._topic)

    def save(self, mark: Mark) -> None:
        """Keep a mark; a crash leaves the one before, and what lies between is shipped twice.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        position = mark.position
        data = {
            "format": _FORMAT,
            "topic": self._topic,
            "segment": position.number,
            "offset": position.offset,
            "crc": position.crc,
            "bodies": mark.bodies,
            "events": mark.events,
            "done": mark.is_done,
        }
        path = self.path / _SHIPPED
        try:
            write_temporary(path, orjson.dumps(data), durable=False).replace(path)
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error

    def stuck(self) -> list[Stuck]:
        """What is left out now, in the order in which it was found to be."""
        return list(self._stuck.values())

    def replace_stuck(self, stuck: Sequence[Stuck]) -> None:
        """Keep another list of what is left out, durably; a crash leaves the one before.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        news = {(each.what, each.hash): each for each in stuck}
        if news == self._stuck:
            return
        path = self.path / STUCK_NAME
        try:
            write_temporary(path, b"".join(map(line_of, stuck))).replace(path)
            sync_directory(self.path)
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error
        self._stuck = news

    def add_stuck(self, stuck: Stuck) -> bool:
        """Name something that was left out, durably; False: it is named already.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        key = (stuck.what, stuck.hash)
        if key in self._stuck:
            return False
        path = self.path / STUCK_NAME
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                write_all(descriptor, line_of(stuck))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error
        self._stuck[key] = stuck
        return True


def mark_of(spool: Path, topic: str) -> Mark:
    """How far a spool was shipped to a topic; a mark that cannot be read is as none."""
    try:
        read = cast("dict[str, int]", orjson.loads((spool / _SHIPPED).read_bytes()))
        if read["format"] != _FORMAT or cast("object", read["topic"]) != topic:
            return Mark()
        position = Position(int(read["segment"]), int(read["offset"]), int(read["crc"]))
        return Mark(position, int(read["bodies"]), int(read["events"]), bool(read["done"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Mark()


def age_ms(spool: Path, topic: str, now_ms: int) -> int | None:
    """How long ago the whole of a spool was acknowledged; None where it is not.

    Args:
        spool: the spool's directory.
        topic: where it is shipped to.
        now_ms: the time by the wall, in milliseconds since 1970.
    """
    if not mark_of(spool, topic).is_done:
        return None
    try:
        return now_ms - (spool / _SHIPPED).stat().st_mtime_ns // 1_000_000
    except OSError:
        return None


def are_bodies_carried(spool: Path, topic: str) -> bool:
    """Whether every body that a spool's list names was carried; False, too, where nobody noted that it was."""
    path = spool / BODIES_NAME
    try:
        return not path.exists() or path.stat().st_size // KEY_BYTES * KEY_BYTES == mark_of(spool, topic).bodies
    except OSError:
        return False
