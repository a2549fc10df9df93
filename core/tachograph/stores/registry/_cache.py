"""The ids that registries gave, in a file: an outage of the registry then stops nobody."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import orjson

from tachograph.core.errors import StoreUnavailable
from tachograph.stores._files import reason_of, sync_directory, write_temporary

_FORMAT: Final = 1

Pair = tuple[int, int]
"""Our id of a schema, and the registry's; the first pair with an id of ours is the one to write with."""


class IdCache:
    """A file of ids, several processes may write it: what each adds is what the registry says, so the last one wins.

    Args:
        path: the file; its directory is made when it is not there.
        url: of the registry; the ids of one are not those of another.
        topic: whose subjects these are.
    """

    def __init__(self, path: Path, url: str, topic: str) -> None:
        self.path = path
        self._name = hashlib.sha256(f"{url}\n{topic}".encode()).hexdigest()

    def load(self) -> list[Pair]:
        """What is known: our id and the registry's; a file that cannot be read is as none."""
        return self._all().get(self._name, [])

    def add(self, pairs: Sequence[Pair]) -> None:
        """Keep some ids.

        Raises:
            StoreUnavailable: they cannot be written.
        """
        known = self._all()
        ours = known.setdefault(self._name, [])
        news = [pair for pair in pairs if pair not in ours]
        if not news:
            return
        ours += news
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = write_temporary(self.path, orjson.dumps({"format": _FORMAT, "ids": known}))
            temporary.replace(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise StoreUnavailable(str(self.path), reason_of(error)) from error

    def _all(self) -> dict[str, list[Pair]]:
        try:
            read = cast("dict[str, dict[str, list[list[int]]]]", orjson.loads(self.path.read_bytes()))
            return {name: [(int(ours), int(theirs)) for ours, theirs in pairs] for name, pairs in read["ids"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
