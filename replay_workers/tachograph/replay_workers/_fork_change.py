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
class Change:
    """What is different for one unit."""

    changed: bool = False
    """Whether anything is; else the unit only replays."""
    from_hlc: int = 0
    """Steps recorded before this clock are served strictly; of a unit that only replays, all are."""
    miss: Miss = "fail"
    overrides: dict[CallKey, bytes] = field(default_factory=dict[CallKey, bytes])
    """Bodies that answer recorded calls."""
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
        decisions=tuple(_decision(one) for one in cast("list[list[Json]]", data["decisions"])),
    )


def _decision(data: list[Json]) -> Decision:
    hlc, effect_id, name, key, state = data
    return Decision(
        cast("int", hlc), cast("str", effect_id), cast("str", name), cast("str | None", key), EffectState(str(state))
    )


def stream_of(key: CallKey) -> StreamKey:
    """The stream of a call."""
    return key[0], key[1]
