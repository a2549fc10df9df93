"""Reading frames: which are whole, and how the bytes end."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from crc32c import crc32c

from tachograph.stores._frame import FRAME, FRAME_HEAD_BYTES, PAYLOAD_BYTES_MAX, SEAL_BYTES, Seal, is_seal, unpack_seal

_unpack = FRAME.unpack_from

LENGTH_SEARCH_BYTES_MAX = 1024 * 1024
"""How far a frame with a damaged length is searched for its end; an event is far smaller."""

ZEROS_MIN = 512
"""A power failure can leave a file longer than what reached the disk: whole sectors of zeros, which no event holds."""


class Ending(StrEnum):
    """Why a scan stopped."""

    WHOLE = "WHOLE"
    """The bytes end with a whole frame."""
    SEALED = "SEALED"
    """The last frame is a seal."""
    TORN = "TORN"
    """The bytes end within a frame, or in zeros."""
    DAMAGED = "DAMAGED"
    """Bytes that are not what was written."""


class FrameScan:
    """Iterates over `(offset, payload)` of the whole frames; then it says where and why it stopped.

    Args:
        data: bytes of the segment from `start` on.
        start: offset of `data` in the segment.
        crc: of the frame (or header) before the first one.
        skip: bytes of `data` before the first frame.
    """

    __slots__ = ("_data", "_start", "crc", "ending", "position", "reason", "seal", "seal_offset", "skipped_length")

    def __init__(self, data: bytes, start: int, crc: int, skip: int = 0) -> None:
        self._data = data
        self._start = start
        self.crc = crc
        """Of the last whole frame."""
        self.position = start + skip
        """Offset behind the last whole frame."""
        self.ending = Ending.WHOLE
        self.reason = ""
        """What is wrong at `position`, for a person."""
        self.seal: Seal | None = None
        self.seal_offset = 0
        self.skipped_length: int | None = None
        """What the length of the frame that was last skipped was changed to, if it was that."""

    @property
    def end(self) -> int:
        """Offset behind the last event: before the seal, where there is one."""
        return self.position if self.seal is None else self.seal_offset

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        data, start, size = self._data, self._start, len(self._data)
        at, crc = self.position - start, self.crc
        while size - at >= FRAME_HEAD_BYTES:
            length, stored = _unpack(data, at)
            end = at + FRAME_HEAD_BYTES + length
            if end > size or length == 0 or length > PAYLOAD_BYTES_MAX:
                break
            payload = data[at + FRAME_HEAD_BYTES : end]
            if crc32c(payload, crc) != stored:
                break
            self.position, self.crc = start + end, stored
            if length == SEAL_BYTES and is_seal(payload):
                self.seal, self.seal_offset = unpack_seal(payload), start + at
                at = end
                break
            yield start + at, payload
            at, crc = end, stored
        self._end(at)

    def payloads(self) -> list[bytes]:
        """The payloads of the whole frames, as iterating gives them: for those who need no offsets, in half the time."""
        data, start, size = self._data, self._start, len(self._data)
        at, crc = self.position - start, self.crc
        found: list[bytes] = []
        while size - at >= FRAME_HEAD_BYTES:
            length, stored = _unpack(data, at)
            begin = at + FRAME_HEAD_BYTES
            end = begin + length
            if end > size or length == 0 or length > PAYLOAD_BYTES_MAX:
                break
            payload = data[begin:end]
            if crc32c(payload, crc) != stored:
                break
            if length == SEAL_BYTES and is_seal(payload):
                self.seal, self.seal_offset = unpack_seal(payload), start + at
                at, crc = end, stored
                break
            found.append(payload)
            at, crc = end, stored
        self.position, self.crc = start + at, crc
        self._end(at)
        return found

    def skip(self) -> bytes | None:
        """Step over a damaged frame; its payload, or None where the bytes cannot be made out any more."""
        at = self.position - self._start
        if (
            self.ending not in (Ending.DAMAGED, Ending.TORN)
            or self.seal is not None
            or len(self._data) - at < FRAME_HEAD_BYTES
        ):
            return None
        said, stored = _unpack(self._data, at)
        length = None if self.ending is Ending.TORN else self._length(at)
        if length is None or not self._goes_on(at, length):
            length = self._true_length(at, stored) or length
        if length is None:
            return None
        payload = self._data[at + FRAME_HEAD_BYTES : at + FRAME_HEAD_BYTES + length]
        self.skipped_length = said if said != length else None
        self._step(length, stored, crc32c(payload, self.crc))
        return payload

    def _step(self, length: int, stored: int, computed: int) -> None:
        self.position += FRAME_HEAD_BYTES + length
        at = self.position - self._start
        # Where the checksum itself was damaged, the next frame still continues the one that was computed.
        self.crc = computed if self._fits(at, computed) and not self._fits(at, stored) else stored
        self.ending, self.reason = Ending.WHOLE, ""

    def _goes_on(self, at: int, length: int) -> bool:
        """Whether a frame of this length is followed by a whole one, or by nothing."""
        _, stored = _unpack(self._data, at)
        end = at + FRAME_HEAD_BYTES + length
        payload = self._data[at + FRAME_HEAD_BYTES : end]
        return end == len(self._data) or self._fits(end, stored) or self._fits(end, crc32c(payload, self.crc))

    def _true_length(self, at: int, stored: int) -> int | None:
        """The length under which the frame's checksum fits and the bytes go on."""
        begin, crc = at + FRAME_HEAD_BYTES, self.crc
        for end in range(begin + 1, min(len(self._data), begin + LENGTH_SEARCH_BYTES_MAX) + 1):
            crc = crc32c(self._data[end - 1 : end], crc)
            if crc == stored and (end == len(self._data) or self._fits(end, stored)):
                return end - begin
        return None

    def _length(self, at: int) -> int | None:
        """The length of the frame there, None where it cannot be one."""
        if len(self._data) - at < FRAME_HEAD_BYTES:
            return None
        length, _ = _unpack(self._data, at)
        fits = 0 < length <= PAYLOAD_BYTES_MAX and at + FRAME_HEAD_BYTES + length <= len(self._data)
        return length if fits else None

    def _fits(self, at: int, crc: int) -> bool:
        """Whether a whole frame lies there that continues a checksum."""
        length = self._length(at)
        if length is None:
            return False
        begin = at + FRAME_HEAD_BYTES
        return bool(crc32c(self._data[begin : begin + length], crc) == _unpack(self._data, at)[1])

    def _end(self, at: int) -> None:
        rest = len(self._data) - at
        if rest == 0:
            self.ending = Ending.WHOLE if self.seal is None else Ending.SEALED
        elif self.seal is not None:
            self.ending, self.reason = Ending.DAMAGED, f"{rest} bytes follow the seal"
        else:
            self.ending, self.reason = _what_is_wrong(self._data, at)


def _what_is_wrong(data: bytes, at: int) -> tuple[Ending, str]:
    rest = len(data) - at
    if rest < FRAME_HEAD_BYTES:
        return Ending.TORN, f"the last {rest} bytes are less than a frame's head"
    length, _ = _unpack(data, at)
    if length == 0 and not data[at:].strip(b"\0"):
        return Ending.TORN, f"the last {rest} bytes are zeros"
    if length == 0 or length > PAYLOAD_BYTES_MAX:
        return Ending.DAMAGED, f"a frame says that its length is {length} bytes"
    if at + FRAME_HEAD_BYTES + length > len(data):
        return Ending.TORN, f"the last frame has {rest - FRAME_HEAD_BYTES} of its {length} bytes"
    if at + FRAME_HEAD_BYTES + length >= len(data) - ZEROS_MIN and data.endswith(bytes(ZEROS_MIN)):
        return Ending.TORN, "the last frame ends in zeros"
    return Ending.DAMAGED, "the frame's checksum does not match its bytes"
