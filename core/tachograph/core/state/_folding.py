"""Folds payloads into a run's state, reading no more of them than the state needs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import cache

from tachograph.core.causality import EventId
from tachograph.core.state._fold import fold, skip
from tachograph.core.state._model import AgentState, RunState
from tachograph.core.state._picked import PICKED, Apply
from tachograph.schemas import (
    CallFinished,
    EffectTransitioned,
    Event,
    EventMeta,
    Pick,
    UnsupportedSchema,
    decode,
    decode_meta,
    is_optional,
    picker,
    prefix_of,
)


class Taken(Enum):
    """What became of an event that was offered."""

    FOLDED = auto()
    KNOWN = auto()
    """Its stream is at it already, or behind it: it changed nothing."""
    AHEAD = auto()
    """An event before it in its stream is not there: it changed nothing."""
    FOREIGN = auto()
    """It belongs to another run or another tenant: it changed nothing."""


_FOLDED, _KNOWN, _AHEAD, _FOREIGN = Taken

_PREFIX_BYTES = 5


class Folding:
    """A run's state while its payloads are folded in; what it adds up to is what `fold` of the decoded events does.

    Most events are read in part only: a text that is skipped is not held to be UTF-8.

    Args:
        state: changed in place.
        tenant: whose run it is; events of other tenants are foreign then.
    """

    __slots__ = ("_plans", "_streams", "_tenant", "moved", "state")

    def __init__(self, state: RunState, *, tenant: str | None = None) -> None:
        self.state = state
        self._tenant = tenant
        self.moved: set[str] = set()
        """Ids of the effects that were moved; for whoever tells of them to empty."""
        self._plans = _plans()
        self._streams: dict[bytes, AgentState] = {}

    def add(self, payload: bytes, *, over_gaps: bool = False) -> Taken:
        """Fold an event, if it is its stream's next.

        Args:
            payload: of the event.
            over_gaps: fold it even where events before it are missing, and note the gap.

        Raises:
            CorruptPayload: the bytes are no event.
            UnsupportedSchema: a newer release wrote it, and it must not be skipped.
        """
        plan = self._plans.get(payload[:_PREFIX_BYTES])
        if plan is None:
            return self._wholly(payload, None, over_gaps=over_gaps)
        pick, apply = plan
        picked = pick(payload)
        if picked is None:
            return self._wholly(payload, None, over_gaps=over_gaps)
        seq = picked[0]
        who = picked[2]
        agent = self._streams.get(who)
        if agent is None or seq != agent.seq + 1:
            return self._wholly(payload, who, over_gaps=over_gaps)
        state = self.state
        if not apply(state, agent, picked):
            return self._wholly(payload, who, over_gaps=over_gaps)
        agent.seq = seq
        agent.hlc = hlc = picked[1]
        told = picked[3]
        if told is not None:
            agent.logical_time_us = told
        state.events += 1
        if hlc > state.hlc:  # noqa: PLR1730  # `max` is a call, and this is done for every event
            state.hlc = hlc
        return _FOLDED

    def _wholly(self, payload: bytes, who: bytes | None, *, over_gaps: bool) -> Taken:
        """The same with everything decoded."""
        event, meta = _decoded(payload)
        taken = self._place(meta)
        if taken is _FOLDED or (taken is _AHEAD and over_gaps):
            taken = _FOLDED
            if event is None:
                skip(self.state, meta)
            else:
                fold(self.state, event)
                self._note(event)
        agent = self.state.agents.get((meta.agent_id, meta.incarnation))
        if who is not None and agent is not None and taken is not _FOREIGN:
            self._streams[who] = agent
        return taken

    def _note(self, event: Event) -> None:
        if isinstance(event, EffectTransitioned):
            self.moved.add(event.effect_id)
        elif isinstance(event, CallFinished):
            meta = event.meta
            effect_id = str(EventId(meta.run_id, meta.agent_id, meta.incarnation, event.call_id))
            if effect_id in self.state.effects:
                self.moved.add(effect_id)

    def _place(self, meta: EventMeta) -> Taken:
        if meta.run_id != self.state.run_id or (self._tenant is not None and meta.tenant != self._tenant):
            return _FOREIGN
        agent = self.state.agents.get((meta.agent_id, meta.incarnation))
        at = 0 if agent is None else agent.seq
        if meta.seq == at + 1:
            return _FOLDED
        return _KNOWN if meta.seq <= at else _AHEAD


def _decoded(payload: bytes) -> tuple[Event | None, EventMeta]:
    """An event, None where it is optional and unknown, and its meta."""
    try:
        event = decode(payload)
    except UnsupportedSchema:
        if not is_optional(payload):
            raise
        return None, decode_meta(payload)
    return event, event.meta


@cache
def _plans() -> Mapping[bytes, tuple[Pick, Apply]]:
    return {prefix_of(name): (picker(name, paths), apply) for name, (paths, apply) in PICKED.items()}
