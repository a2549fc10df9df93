"""Books in S3: `fold/TOPIC/PARTITION/OFFSET.json`, OFFSET being that of the record to be read next."""

from __future__ import annotations

import logging
from typing import Final

from tachograph.core.errors import CorruptPayload
from tachograph.stores.kafka import TopicPartition
from tachograph.stores.s3 import Bucket, name_part
from tachograph.stream_processors.fold._values import Book, book_bytes, book_of

_LOG: Final = logging.getLogger("tachograph.fold")

_KEPT: Final = 2
"""The newest, and the one before: a commit may have failed after the newest was stored."""

_DIGITS: Final = 20


class Books:
    """Keeps a partition's book beside its commits.

    Args:
        bucket: where.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def load(self, place: TopicPartition, offset: int) -> Book | None:
        """The book of a partition's records before an offset; None where there is none that can be read.

        Raises:
            StoreUnavailable: S3 does not answer.
        """
        for name in reversed(self._before(place, offset)):
            try:
                return book_of(self._bucket.get(name) or b"")
            except CorruptPayload as error:
                _LOG.warning("tachograph: the book %s cannot be read: %s", name, error)
        return None

    def save(self, place: TopicPartition, offset: int, book: Book) -> None:
        """Store a book. Another processor may have come here before: its book knows no less of what lies before.

        Raises:
            StoreUnavailable: S3 does not answer.
        """
        self._bucket.put_new(self._name(place, offset), book_bytes(book))

    def prune(self, place: TopicPartition, offset: int) -> None:
        """Remove what commits have left behind.

        Raises:
            StoreUnavailable: S3 does not answer.
        """
        for name in self._before(place, offset)[:-_KEPT]:
            self._bucket.remove(name)

    def _before(self, place: TopicPartition, offset: int) -> list[str]:
        last = self._name(place, offset)
        return sorted(name for name in self._bucket.names(self._folder(place)) if name <= last)

    def _name(self, place: TopicPartition, offset: int) -> str:
        return f"{self._folder(place)}{offset:0{_DIGITS}}.json"

    def _folder(self, place: TopicPartition) -> str:
        return f"fold/{name_part(place.topic)}/{place.partition}/"
