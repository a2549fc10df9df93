"""Frames on a pipe: a JSON header, and one run of bytes behind it.

    frame: length of all that follows, 8 bytes big-endian | length of the header, 4 bytes | header | blob

Nothing is pickled: a frame can hold nothing but JSON and bytes. What a header has of bytes are lengths (null: none); they lie
in the blob one behind the other, in the order in which the header names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import orjson

from tachograph.core.errors import InternalError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Frame = dict[str, Json]

LENGTH_BYTES = 8
HEADER_BYTES = 4
FRAME_BYTES_MAX = 4 * 1024**3
"""Nothing that is replayed comes near it."""


class Blob:
    """Collects the bytes behind a header."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def put(self, data: bytes | None) -> int | None:
        """What stands in the header for some bytes."""
        if data is None:
            return None
        self.parts.append(data)
        return len(data)


class BlobReader:
    """Hands out the bytes behind a header, in their order, from `start` on."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes, start: int = 0) -> None:
        self._data = data
        self._at = start

    def get(self, length: int | None) -> bytes | None:
        """The next bytes, for what stands in the header."""
        if length is None:
            return None
        start = self._at
        self._at = end = start + length
        return self._data[start:end]


def frame(header: Frame, blob: Sequence[bytes] = ()) -> bytes:
    """A frame's bytes; the blob's parts are put together here and nowhere else, for it is large."""
    text = orjson.dumps(header)
    length = HEADER_BYTES + len(text) + sum(map(len, blob))
    return b"".join((length.to_bytes(LENGTH_BYTES, "big"), len(text).to_bytes(HEADER_BYTES, "big"), text, *blob))


def read_frame(exactly: Callable[[int], bytes]) -> tuple[Frame, bytes]:
    """Header and blob of the next frame.

    Args:
        exactly: reads so many bytes from the pipe.

    Raises:
        InternalError: no frame is that long; the pipe is out of step.
    """
    length = int.from_bytes(exactly(LENGTH_BYTES), "big")
    size = int.from_bytes(exactly(HEADER_BYTES), "big")
    if not HEADER_BYTES + size <= length <= FRAME_BYTES_MAX:
        raise InternalError(f"a frame of {length} bytes on the pipe of a replaying process")
    return cast("Frame", orjson.loads(exactly(size))), exactly(length - HEADER_BYTES - size)
