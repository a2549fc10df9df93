"""What a call of a fork is answered with, where the recording's own answer does not do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, cast

from tachograph.core.boundary import WAITED
from tachograph.core.canonical import decode_body, encode_body
from tachograph.core.replay import Fixture, Piece, Step
from tachograph.replay_workers._fork_change import Sent
from tachograph.schemas import CallKind, CallOutcome

Origin = Literal["recorded", "override", "mail", "stub", "made"]
"""Where an answer comes from: the parent's recording, the fork's options, what another agent sends in the fork, nowhere, or
the fork's own clock and chance."""

MADE: frozenset[CallKind] = frozenset({"clock", "random", "id"})
"""Kinds that a fork can answer itself, because nothing outside is asked."""

NOTHING = Fixture(None)
"""What is not there yet."""

_NO_GRANT = {"approver": "", "granted": False, "decided_at": None, "expires_at": None}
"""A stub never grants anything."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of a fork gets."""

    origin: Origin
    step: Step
    """The recorded step whose place it has; else the fork's own."""
    fixture: Fixture
    strict: bool = False
    """The stream has done nothing else than its parent so far."""
    message: Sent | None = None
    """What another unit sends in the fork in place of the recorded message."""

    @property
    def has_place(self) -> bool:
        """Whether it arrives where the recorded answer did."""
        return self.origin in ("recorded", "override")


def overridden(fixture: Fixture, body: bytes) -> Fixture:
    """A recorded answer with another content, arriving at the same place; of a streamed one each item is a piece."""
    pieces: tuple[Piece, ...] = ()
    if fixture.pieces:
        value = decode_body(body)
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        pieces = tuple(Piece(encode_body(item), 0, 0, 0, 0) for item in items)
    yields = fixture.yields
    if fixture.outcome is None:
        yields = 0
    elif yields < WAITED:  # control logic ended the recorded call itself
        yields = WAITED
    return replace(
        fixture, outcome=CallOutcome.OK, result=None if pieces else body, error=None, pieces=pieces, yields=yields,
        unrecorded=None, redacted=False, usage=None, details=None, receipt=None,
    )  # fmt: skip


def stub(kind: CallKind) -> Fixture:
    """An answer that says nothing."""
    return Fixture(CallOutcome.OK, encode_body(_NO_GRANT) if kind == "approval" else b"null")


def made(kind: CallKind, step: Step, run_id: str, now_us: int) -> Fixture:
    """A clock read, a seed or an id of the fork's own; two forks with the same changes get the same."""
    text = f"{run_id}/{step.agent_id}#{step.incarnation}.{step.number} {kind} {step.name}"
    digest = sha256(text.encode()).hexdigest()[:32]
    values: dict[str, object] = {"clock": now_us, "random": int(digest, 16), "id": digest}
    return Fixture(CallOutcome.OK, encode_body(values[kind]))
