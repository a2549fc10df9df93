"""A run's steps from its payloads: calls that hold their payloads are not made into events, which are most of a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from tachograph.core.replay._drafts import Draft, Key, place_children, take_event
from tachograph.core.replay._fixtures import ReadBody
from tachograph.core.replay._picked import CALL_ID, FINISHED, NOT_FINISHED, NOT_STARTED, STARTED, PickedEnd, PickedStart
from tachograph.core.replay._recorded import StreamSteps
from tachograph.core.replay._steps import stream_of_draft
from tachograph.schemas import Event, Pick, decode, picker, prefix_of, was_upcast

_PREFIX_BYTES = 5

Read: TypeAlias = "Event | PickedStart | PickedEnd"
"""What was read of a payload."""


class Skim:
    """Reads a run in which nothing is missing and nothing is of an older version; else it has to be read event by event.

    Nothing is checked here but that streams go on without a hole.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        """Those that were decoded whole: all but calls that hold their payloads."""
        self.payloads: list[bytes] = []
        """All of them, as they came."""
        self.read: list[Read] = []
        """Beside each payload what was read of it."""
        self.keys: dict[bytes, Key] = {}
        """The streams, by the bytes that name them in what was picked."""
        self._drafts: dict[Key, Draft] = {}
        self._named: dict[bytes, Draft] = {}
        self._current: set[bytes] = set()

    def take(self, payloads: Iterable[bytes]) -> bool:
        """Take in payloads in their order; False where the run is not one to skim.

        Raises:
            CorruptPayload, UnsupportedSchema: as `decode`.
        """
        plan_of, named, wholly = _plans().get, self._named.get, self._wholly
        add_payload, add_read = self.payloads.append, self.read.append
        for payload in payloads:  # for most of them no function is called but the picker
            plan = plan_of(payload[:_PREFIX_BYTES])
            picked = None if plan is None else plan[0](payload)
            draft = None if picked is None else named(picked[2])
            if plan is None or picked is None or draft is None or picked[-1] is None:
                if not wholly(payload, None if picked is None else picked[2]):
                    return False
                continue
            seq = picked[0]
            if seq != draft.last_seq + 1:
                return False
            draft.last_seq = seq
            draft.hlcs.append(picked[1])
            draft.times.append(picked[4])  # type: ignore[misc]  # as its picker says, here and below
            if plan[1]:
                draft.begun.append(picked)  # type: ignore[arg-type]
            else:
                draft.finished[picked[CALL_ID]] = picked  # type: ignore[index, assignment]
            add_payload(payload)
            add_read(picked)  # type: ignore[arg-type]
        return True

    def streams(self, body: ReadBody) -> dict[Key, StreamSteps]:
        """The steps of every stream, as `steps_of` gives them; once."""
        place_children(self._drafts)
        return {key: stream_of_draft(draft, body) for key, draft in self._drafts.items()}

    def forget(self) -> None:
        """Let go of what was read of calls: their steps are made, and it has been looked at."""
        self.read.clear()
        for draft in self._drafts.values():
            draft.begun.clear()
            draft.finished.clear()

    @property
    def times(self) -> Mapping[Key, Sequence[int]]:
        """When the events of each stream were recorded, by `seq - 1`."""
        return {key: draft.times for key, draft in self._drafts.items()}

    def _wholly(self, payload: bytes, who: bytes | None) -> bool:
        event = decode(payload)
        prefix = payload[:_PREFIX_BYTES]
        if prefix not in self._current:
            if was_upcast(payload):
                return False
            self._current.add(prefix)
        meta = event.meta
        key = (meta.agent_id, meta.incarnation)
        known = self._drafts.get(key)
        if meta.seq != (1 if known is None else known.last_seq + 1):
            return False
        take_event(self._drafts, event)
        if who is not None:
            self._named[who], self.keys[who] = self._drafts[key], key
        self.events.append(event)
        self.payloads.append(payload)
        self.read.append(event)
        return True


@cache
def _plans() -> Mapping[bytes, tuple[Pick, bool]]:
    """By how payloads of these types begin: their pickers, and whether they begin a call."""
    started = picker("CallStarted", STARTED, timed=True, without=NOT_STARTED)
    finished = picker("CallFinished", FINISHED, timed=True, without=NOT_FINISHED)
    return {prefix_of("CallStarted"): (started, True), prefix_of("CallFinished"): (finished, False)}
