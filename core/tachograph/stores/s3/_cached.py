"""Objects that are read through a directory: what was read once lies on the disk."""

from __future__ import annotations

import contextlib
import heapq
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tachograph.core.errors import StoreUnavailable
from tachograph.core.ports import ObjectStore
from tachograph.stores._objects import DirectoryObjects
from tachograph.stores._referred import Notes


def _believed(key: bytes, data: bytes) -> bool:
    return True


class CachedObjects:
    """An `ObjectStore` that puts into a directory and reads what the directory lacks from behind it.

    What is put goes no further than the directory: the shipper carries it on. Safe for several threads.

    Args:
        directory: the objects of this machine.
        behind: the objects of all.
        is_whole: whether bytes are those of a key. What is not is neither kept nor, while the store behind has better,
            handed out; without it everything is believed.
    """

    def __init__(
        self,
        directory: DirectoryObjects,
        behind: ObjectStore,
        *,
        is_whole: Callable[[bytes, bytes], bool] = _believed,
    ) -> None:
        self.directory: Final = directory
        self.behind: Final = behind
        self._is_whole = is_whole

    @property
    def notes(self) -> Notes:
        """Hears of every key that is put."""
        return self.directory.notes

    def put(self, key: bytes, data: bytes) -> None:
        """Store into the directory.

        Raises:
            StoreUnavailable: it could not be stored.
        """
        self.directory.put(key, data)

    def get(self, key: bytes) -> bytes | None:
        """The object, or None where neither has it.

        Raises:
            StoreUnavailable: the directory does not have it and the store behind does not answer.
        """
        near = self.directory.get(key)
        if near is not None and self._is_whole(key, near):
            return near
        far = self.behind.get(key)
        if far is None:
            return near
        if self._is_whole(key, far):
            # A directory that cannot be written still reads.
            with contextlib.suppress(StoreUnavailable):
                self.directory.put(key, far)
        return far

    def keys(self) -> Iterator[bytes]:
        """Every key of both, sorted.

        Raises:
            StoreUnavailable: one of them does not answer.
        """
        merged = heapq.merge(self.directory.keys(), self.behind.keys())
        return (key for key, _ in itertools.groupby(merged))

    def sync(self) -> None:
        """Make everything put durable.

        Raises:
            StoreUnavailable: it may not be durable.
        """
        self.directory.sync()

    def path_of(self, key: bytes) -> Path:
        """Where an object lies in the directory, or would."""
        return self.directory.path_of(key)
