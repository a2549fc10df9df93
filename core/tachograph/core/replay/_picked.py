"""A call's events of which the fields were picked, where they hold their payloads and nothing unusual befell the call."""

from __future__ import annotations

from typing import TypeAlias

from tachograph.core.replay._recorded import Fixture, Piece
from tachograph.schemas import CallKind, CallOutcome, RequestDetails, ResponseDetails, Usage

PickedStart: TypeAlias = tuple[
    int, int, bytes, int | None, int, CallKind, str, str | None, RequestDetails | None, bytes, int, bool, bytes
]
"""(seq, hlc, stream, logical time, when it was recorded, kind, name, version, details, digest, size, whether it was
redacted, arguments) of a CallStarted."""

PickedEnd: TypeAlias = tuple[
    int, int, bytes, int | None, int, int, CallOutcome, int, int, Usage | None, ResponseDetails | None,
    bytes, int, bool, bytes,
]  # fmt: skip
"""(seq, hlc, stream, logical time, when it was recorded, call_id, outcome, yields, gap, usage, details, digest, size,
whether it was redacted, result) of a CallFinished."""

CALL_ID = 5
"""Where a PickedEnd has the id of its call."""

STARTED = (
    "kind", "name", "version", "details",
    "arguments.digest", "arguments.size", "arguments.redacted", "arguments.inline",
)  # fmt: skip
"""What is picked of a CallStarted. Every text in it is read, so that one which is not UTF-8 is found."""

NOT_STARTED = ("idempotency_key",)
"""What it must not have."""

FINISHED = (
    "call_id", "outcome", "yields", "gap", "usage", "details",
    "result.digest", "result.size", "result.redacted", "result.inline",
)  # fmt: skip
"""The same of a CallFinished. What is last is None where it lies elsewhere, or is not there."""

NOT_FINISHED = ("unrecorded", "error", "receipt")


def fixture_of_picked(end: PickedEnd, pieces: tuple[Piece, ...]) -> Fixture:
    """What came back from a call."""
    seq, hlc, _, _, _, _, outcome, yields, gap, usage, details, _, _, redacted, result = end
    if pieces:
        redacted = redacted or any(piece.redacted for piece in pieces)
    # By place: this is on the path of every call.
    return Fixture(outcome, result, None, pieces, yields, gap, seq, hlc, None, redacted, usage, details)
