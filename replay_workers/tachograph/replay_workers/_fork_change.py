"""What a fork changes in one unit, as a value that travels to the replaying process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast

from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._wire import Frame, Json
from tachograph.schemas import EffectState

CallKey = tuple[str, int, int]
"""(agent_id, incarnation, `seq` of the CallStarted)."""

Miss = Literal["fail", "stub"]


@dataclass(frozen=True, slots=True)
class Decision:
    """An effect that somebody decided while the recorded run went on."""

    hlc: int
    effect_id: str
    name: str
    idempotency_key: str | None
    state: EffectState


@dataclass(frozen=True, slots=True)
class Letter:
    """The message that answered a recorded `receive`."""

    sender: StreamKey
    seq: int
    """Of its MessageSent."""
    number: int
    """Which one from its sender to its receiver, from 0."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that a fork sent."""

    from_agent_id: str
    to_agent_id: str
    number: int
    """Which one from this agent to that, from 0."""
    message_id: str
    body: bytes
    redacted: bool
    stream: StreamKey
    seq: int
    """Of its MessageSent in the fork."""
    origin: int | None
    """`seq` of the recorded MessageSent that it equals."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is different for one unit."""

    changed: bool = False
    """Whether anything is; else the unit only replays."""
    from_hlc: int = 0
    """Steps recorded before this clock are served strictly; of a unit that only replays, all are."""
    miss: Miss = "fail"
    overrides: dict[CallKey, bytes] = field(default_factory=dict[CallKey, bytes])
    """Bodies that answer recorded calls."""
    letters: dict[CallKey, Letter] = field(default_factory=dict[CallKey, Letter])
    """For each recorded `receive` the message that came from an agent of the same unit."""
    arrivals: dict[CallKey, Sent] = field(default_factory=dict[CallKey, Sent])
    """For a recorded `receive` the message that another unit sends in the fork, where it is another one."""
    decisions: tuple[Decision, ...] = ()
    """In the order of their clocks."""

    def is_before(self, hlc: int) -> bool:
        """Whether a recorded step lies before the fork point."""
        return not self.changed or hlc < self.from_hlc


def change_json(change: Change) -> Frame:
    """A change as JSON."""
    return {
        "changed": change.changed,
        "from_hlc": change.from_hlc,
        "miss": change.miss,
        "overrides": [[*key, body.decode()] for key, body in change.overrides.items()],
        "letters": [[*key, *one.sender, one.seq, one.number] for key, one in change.letters.items()],
        "arrivals": [[*key, *_sent_json(one)] for key, one in change.arrivals.items()],
        "decisions": [
            [one.hlc, one.effect_id, one.name, one.idempotency_key, one.state.value] for one in change.decisions
        ],
    }


def change_of(data: Frame) -> Change:
    """The inverse of `change_json`."""
    overrides = cast("list[tuple[str, int, int, str]]", data["overrides"])
    return Change(
        changed=data["changed"] is True,
        from_hlc=cast("int", data["from_hlc"]),
        miss="stub" if data["miss"] == "stub" else "fail",
        overrides={(agent, incarnation, seq): body.encode() for agent, incarnation, seq, body in overrides},
        letters=dict(_letter(one) for one in cast("list[list[Json]]", data["letters"])),
        arrivals=dict(_arrival(one) for one in cast("list[list[Json]]", data["arrivals"])),
        decisions=tuple(_decision(one) for one in cast("list[list[Json]]", data["decisions"])),
    )


def _decision(data: list[Json]) -> Decision:
    hlc, effect_id, name, key, state = data
    return Decision(
        cast("int", hlc), cast("str", effect_id), cast("str", name), cast("str | None", key), EffectState(str(state))
    )


def _letter(data: list[Json]) -> tuple[CallKey, Letter]:
    agent_id, incarnation, seq, sender, life, sent, number = data
    letter = Letter((cast("str", sender), cast("int", life)), cast("int", sent), cast("int", number))
    return (cast("str", agent_id), cast("int", incarnation), cast("int", seq)), letter


def _sent_json(one: Sent) -> list[Json]:
    return [
        one.from_agent_id, one.to_agent_id, one.number, one.message_id, one.body.decode(), one.redacted, *one.stream,
        one.seq, one.origin,
    ]  # fmt: skip


def _arrival(data: list[Json]) -> tuple[CallKey, Sent]:
    agent_id, incarnation, call, sender, receiver, number, message_id, body, redacted, stream, life, seq, origin = data
    sent = Sent(
        cast("str", sender), cast("str", receiver), cast("int", number), cast("str", message_id),
        cast("str", body).encode(), redacted is True, (cast("str", stream), cast("int", life)), cast("int", seq),
        cast("int | None", origin),
    )  # fmt: skip
    return (cast("str", agent_id), cast("int", incarnation), cast("int", call)), sent
