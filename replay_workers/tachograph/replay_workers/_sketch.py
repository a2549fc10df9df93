"""A run's evidence ahead of its check: control logic is driven already while the rest is held against its hashes.

Only of runs in which nothing is missing at first sight. A step's bytes are handed on only once they are checked, and a replay
counts only when everything is; where something does not fit, the run is read again, event by event (`_reading`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from functools import cache

from tachograph.core.causality import GENESIS, event_hash
from tachograph.core.errors import EvidenceBroken
from tachograph.core.replay import Read, Skim
from tachograph.core.state import RunState, caught_up, empty, fold
from tachograph.replay_workers._collector import collector_paused
from tachograph.replay_workers._cut import cut
from tachograph.replay_workers._evidence import Evidence, stream_of
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._reading import hash_of
from tachograph.schemas import CONTENT_OFFSET, HASH, Body, Error, Event, decode, schema_tag
from tachograph.stores import Home

_CHECKED_EVENTS = 128
"""Events that are checked before their steps are handed on."""


class Unsound(Exception):
    """Something in the evidence is not what it was."""


class Sketch:
    """A run's evidence, which nothing is missing from at first sight; its events are those that were decoded whole."""

    def __init__(self, home: Home, evidence: Evidence, skim: Skim) -> None:
        self.evidence = evidence
        self._digest = home.digester.digest
        self.skim = skim
        self._events: list[Event] = []
        self._latest: dict[StreamKey, bytes] = {}
        """Hash of each stream's latest event that was checked."""
        self._behind: dict[StreamKey, int] = {}
        """`seq` of each stream's latest call that is not folded."""
        self.checking = self._checked()
        """Checks everything, and gives the clock up to which all is well; raises Unsound where something is not.

        It keeps the collector from all that was read, until it ends or is closed.
        """
        next(self.checking)

    def events(self) -> Sequence[Event]:
        """All events of the run; hardly anybody asks for them."""
        self._events = self._events or [decode(payload) for payload in self.skim.payloads]
        return self._events

    def _checked(self) -> Generator[int]:
        state = empty(self.evidence.run_id)
        skim = self.skim
        with collector_paused():
            yield 0
            for start in range(0, len(skim.read), _CHECKED_EVENTS):
                part = skim.read[start : start + _CHECKED_EVENTS]
                self._check_part(state, part, skim.payloads[start : start + _CHECKED_EVENTS])
                if len(part) == _CHECKED_EVENTS:
                    last = part[-1]
                    yield last[1] if isinstance(last, tuple) else last.meta.hlc
            caught_up(state, self._behind)
            self.evidence.judge(state)
            skim.forget()  # while the child still drives: nobody waits for it

    def _check_part(self, state: RunState, part: Sequence[Read], payloads: Sequence[bytes]) -> None:
        keys, digest_of, latest, behind = self.skim.keys, self._digest, self._latest, self._behind
        for read, payload in zip(part, payloads, strict=True):
            if not isinstance(read, tuple):
                self._check(read, payload)
                self._fold(state, read)
                continue
            stream = keys[read[2]]
            digest, size, _, data = read[-4:]
            found = event_hash(schema_tag(payload), payload[CONTENT_OFFSET:], latest[stream], ())  # it has no causes
            if found != payload[HASH] or len(data) != size or digest_of(data) != digest:
                raise Unsound
            latest[stream] = found
            behind[stream] = read[0]

    def _check(self, event: Event, payload: bytes) -> None:
        stream = stream_of(event)
        if hash_of(event, payload, self._latest.get(stream, GENESIS)) != event.meta.hash:
            raise Unsound
        self._latest[stream] = event.meta.hash
        self._check_bodies(event)

    def _fold(self, state: RunState, event: Event) -> None:
        """What is judged follows from these events, and from how far the streams have come."""
        if self._behind:
            caught_up(state, self._behind)
            self._behind.clear()
        fold(state, event)

    def _check_bodies(self, event: Event) -> None:
        kind: type = type(event)
        for name in _carriers(kind):
            found = getattr(event, name)
            body = found.arguments if type(found) is Error else found
            if type(body) is not Body or body.inline is None:
                continue  # what lies elsewhere was checked as it was read
            if len(body.inline) != body.size or self._digest(body.inline) != body.digest:
                raise Unsound


@cache
def _carriers(cls: type[Event]) -> tuple[str, ...]:
    """The fields of an event that may hold a body."""
    return tuple(
        field.name for field in dataclasses.fields(cls) if "Body" in str(field.type) or "Error" in str(field.type)
    )


def sketch_of(home: Home, run_id: str) -> Sketch | None:
    """A run's evidence, unchecked; None where it has to be looked at event by event.

    Raises:
        UnknownRun: there is no such run.
    """
    evidence = Evidence(run_id)
    skim = Skim()
    try:
        if not skim.take(stored.payload for stored in home.log.read_run(run_id)):
            return None
        evidence.events = skim.events
        cut(
            evidence,
            lambda body, event_id: body.inline if body.inline is not None else home.body(body, event_id),
            skim,
        )
    except EvidenceBroken:
        return None
    whole = evidence.units and not evidence.undriven and not evidence.missing
    return Sketch(home, evidence, skim) if whole else None
