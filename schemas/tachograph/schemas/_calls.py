"""Encodes the two events that most of a recording consists of, where they hold a payload and nothing else.

Every field lies where `encode_rest` puts it, whatever becomes of the schemas: that is held by test.
"""

from __future__ import annotations

from typing import cast

from tachograph.schemas._encoder import UNFIT
from tachograph.schemas._errors import SchemaMismatch
from tachograph.schemas._head import encode_rest
from tachograph.schemas._registry import current, schema_of
from tachograph.schemas._shape import Enumeration, shape_of
from tachograph.schemas._wire import SMALL, SMALL_MAX, SMALL_MIN, long_bytes

_ANY_DIGEST = bytes(32)


class CallEncoder:
    """Gives what `encode_rest` gives, sooner, behind a head; payloads lie inline, and nothing in them was replaced."""

    __slots__ = ("_outcomes",)

    def __init__(self) -> None:
        outcome = cast("Enumeration", dict(shape_of(schema_of(current()["CallFinished"])).fields)["outcome"])
        self._outcomes = {symbol: SMALL[place] for place, symbol in enumerate(outcome.symbols)}

    def opening(self, kind: str, name: str, version: str | None, effect: str) -> bytes:
        """How the CallStarted of a first attempt begins that has neither key nor details.

        Raises:
            SchemaMismatch: a value does not fit.
        """
        fields = {
            "kind": kind, "name": name, "version": version, "effect": effect,
            "idempotency_key": None, "attempt": 1, "details": None,
            "arguments": {"digest": _ANY_DIGEST, "size": 0, "redacted": False, "inline": b"", "chunks": ()},
        }  # fmt: skip
        return encode_rest("CallStarted", fields).removesuffix(self.started(b"", b"", _ANY_DIGEST, b""))

    def started(self, head: bytes, opening: bytes, digest: bytes, arguments: bytes) -> bytes:
        """A CallStarted that begins like this."""
        size = SMALL[n] if (n := len(arguments)) <= SMALL_MAX else long_bytes(n)
        return b"".join((head, opening, digest, size, b"\0\2", size, arguments, b"\0"))

    def finished(self, head: bytes, call: tuple[int, str, int, int], digest: bytes, result: bytes) -> bytes:
        """A CallFinished that has a result and nothing else; `call` is its call_id, outcome, yields and gap.

        Raises:
            SchemaMismatch: a value does not fit.
        """
        call_id, outcome, yields, gap = call
        size = SMALL[n] if (n := len(result)) <= SMALL_MAX else long_bytes(n)
        try:
            return b"".join((
                head, _long(call_id), self._outcomes[outcome], _long(yields), _long(gap), b"\0\0\0\0\0\0\2",
                digest, size, b"\0\2", size, result, b"\0",
            ))  # fmt: skip
        except UNFIT as error:
            raise SchemaMismatch("CallFinished", str(error)) from error


def _long(number: int) -> bytes:
    return SMALL[number] if SMALL_MIN <= number <= SMALL_MAX else long_bytes(number)
