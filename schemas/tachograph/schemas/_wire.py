"""The parts of Avro's binary encoding that generated code calls: long numbers, lengths and arrays.

Numbers are zigzag varints of 64 bits. Reading never trusts a number: a length is used only to slice, which never
gives more bytes than there are, and the number of items is bounded by the bytes that they need.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from tachograph.schemas._errors import CorruptPayload, LimitExceeded

T = TypeVar("T")

SMALL_MAX = 8191
"""The highest number that SMALL holds: what two bytes can say."""

SMALL_MIN = -64
"""The lowest: what one byte can say."""

_SHIFTS = range(7, 70, 7)
"""Where the bits of a varint's second to tenth byte go: ten bytes hold 64 bits."""

_LONGEST = (1 << 64) - 1

_TOO_LONG = 1 << 64


def _plain_varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


_LAST = [bytes((n,)) for n in range(256)]

_MORE = _LAST[128:]
"""A byte that others follow, by the seven bits in it. Every process makes the tables below: bytes are put together quickest."""

SMALL = [
    *_LAST[:128:2],
    *(low + high for high in _LAST[1:128] for low in _MORE[::2]),
    *(_plain_varint(n * -2 - 1) for n in range(SMALL_MIN, 0)),
]
"""The bytes of numbers from SMALL_MIN to SMALL_MAX: negative ones lie where negative indexes point."""

PAIRS = [low + high for high in _MORE for low in _MORE]
"""Two bytes of a varint that goes on, by the 14 bits in them."""

DOUBLE = struct.Struct("<d")


def long_bytes(number: int) -> bytes:
    """The bytes of a number of 64 bits.

    Raises:
        OverflowError: it does not fit into 64 bits.
    """
    if SMALL_MAX < number < 1 << 20:  # sequence numbers of long streams
        return PAIRS[number << 1 & 16383] + _LAST[number >> 13]
    if not -0x8000_0000_0000_0000 <= number <= 0x7FFF_FFFF_FFFF_FFFF:
        raise OverflowError(f"{number} does not fit into 64 bits")
    rest = number << 1 ^ number >> 63
    if rest >> 49 and rest < 1 << 63:  # times and clocks: eight or nine bytes, nine times out of ten
        head = PAIRS[rest & 16383] + PAIRS[rest >> 14 & 16383] + PAIRS[rest >> 28 & 16383]
        if rest < 1 << 56:
            return head + _LAST[rest >> 42 & 127 | 128] + _LAST[rest >> 49]
        return head + PAIRS[rest >> 42 & 16383] + _LAST[rest >> 56]
    return _plain_varint(rest)


HIGH_SHIFT = 27
"""Above so many bits of a positive number its bytes are what is left behind two of PAIRS."""


def high_bytes(number: int) -> bytes:
    """How the bytes of a number end that is at least `1 << HIGH_SHIFT`: those of the bits above that.

    Raises:
        OverflowError: it does not fit into 64 bits.
    """
    return long_bytes(number)[4:]


def long_tail(data: bytes, at: int, first: int) -> tuple[int, int]:
    """The number whose first byte is `first` and whose further bytes start at `at`, and where it ends."""
    bits = first & 127
    for shift in _SHIFTS:
        byte = data[at]
        at += 1
        bits |= (byte & 127) << shift
        if byte < 128:
            break
    else:
        bits = _TOO_LONG
    if bits > _LONGEST:
        raise CorruptPayload("an event", at, "a number is longer than 64 bits")
    return bits >> 1 ^ -(bits & 1), at


def length_tail(data: bytes, at: int, first: int) -> tuple[int, int]:
    """The same for a length, a place in a union or in an enum: it is no negative number."""
    number, at = long_tail(data, at, first) if first > 127 else (-1, at)
    if number < 0:
        raise CorruptPayload("an event", at, "a length or a choice is negative")
    return number, at


def read_items(
    data: bytes, at: int, items_max: int, item_bytes_min: int, read: Callable[[bytes, int, int], tuple[T, int]]
) -> tuple[tuple[T, ...], int]:
    """The items of an array whose blocks start at `at`, and where it ends."""
    items: list[T] = []
    while True:
        count, at = block_count(data, at)
        if not count:
            return tuple(items), at
        if count * item_bytes_min > len(data) - at:
            raise CorruptPayload("an event", at, f"an array of {count} items does not fit into what is left")
        if len(items) + count > items_max:
            raise LimitExceeded("the number of items in an array", len(items) + count, items_max)
        for _ in range(count):
            item, at = read(data, at, items_max)
            items.append(item)


def long_at(data: bytes, at: int) -> tuple[int, int]:
    """The number that starts at `at`, and where it ends."""
    first = data[at]
    return long_tail(data, at + 1, first) if first > 127 else (first >> 1 ^ -(first & 1), at + 1)


def length_at(data: bytes, at: int) -> tuple[int, int]:
    """The number that starts at `at` and is not negative, and where it ends."""
    first = data[at]
    return length_tail(data, at + 1, first) if first & 129 else (first >> 1, at + 1)


def block_count(data: bytes, at: int) -> tuple[int, int]:
    """How many items a block holds. A negative count is followed by the block's size in bytes, which is not needed."""
    count, at = long_at(data, at)
    return (-count, long_at(data, at)[1]) if count < 0 else (count, at)
