"""A run's evidence ahead of its check: control logic is driven already while the rest is held against its hashes.

Only of runs in which nothing is missing at first sight. A step's bytes are handed on only once they are checked, and a replay
counts only when everything is; where something does not fit, the run is read again, event by event (`_reading`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from functools import cache

from tachograph.core.causality import GENESIS
from tachograph.core.errors import EvidenceBroken
from tachograph.core.state import empty, fold
from tachograph.replay_workers._collector import collector_paused
from tachograph.replay_workers._cut import cut
from tachograph.replay_workers._evidence import Evidence, stream_of
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._reading import hash_of
from tachograph.schemas import Body, Error, Event, decode, was_upcast
from tachograph.stores import Home

_PREFIX_BYTES = 5
_CHECKED_EVENTS = 128
"""Events that are checked before their steps are handed on."""


class Unsound(Exception):
    """Something in the evidence is not what it was."""


class Sketch:
    """A run's evidence, which nothing is missing from at first sight."""

    def __init__(self, home: Home, evidence: Evidence, payloads: list[bytes]) -> None:
        self.evidence = evidence
        self._home = home
        self._payloads = payloads
        self.checking = self._checked()
        """Checks everything, and gives the clock up to which all is well; raises Unsound where something is not.

        It keeps the collector from all that was read, until it ends or is closed.
        """
        next(self.checking)

    def _checked(self) -> Generator[int]:
        evidence = self.evidence
        latest: dict[StreamKey, bytes] = {}
        state = empty(evidence.run_id)
        with collector_paused():
            yield 0
            for number, (event, payload) in enumerate(zip(evidence.events, self._payloads, strict=True), 1):
                stream = stream_of(event)
                if hash_of(event, payload, latest.get(stream, GENESIS)) != event.meta.hash:
                    raise Unsound
                latest[stream] = event.meta.hash
                self._check_bodies(event)
                state = fold(state, event)
                if not number % _CHECKED_EVENTS:
                    yield event.meta.hlc
            evidence.judge(state)
            self._payloads.clear()  # while the child still drives: nobody waits for it

    def _check_bodies(self, event: Event) -> None:
        digest = self._home.digester.digest
        kind: type = type(event)
        for name in _carriers(kind):
            found = getattr(event, name)
            body = found.arguments if type(found) is Error else found
            if type(body) is not Body or body.inline is None:
                continue  # what lies elsewhere was checked as it was read
            if len(body.inline) != body.size or digest(body.inline) != body.digest:
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
    payloads: list[bytes] = []
    times: dict[StreamKey, list[int]] = {}
    schemas: set[bytes] = set()
    try:
        for stored in home.log.read_run(run_id):
            payload = stored.payload
            event = decode(payload)
            prefix = payload[:_PREFIX_BYTES]
            if not _is_next(event, times) or (prefix not in schemas and was_upcast(payload)):
                return None
            schemas.add(prefix)
            evidence.events.append(event)
            payloads.append(payload)
        cut(
            evidence,
            lambda body, event_id: body.inline if body.inline is not None else home.body(body, event_id),
            times,
        )
    except EvidenceBroken:
        return None
    whole = evidence.units and not evidence.undriven and not evidence.missing
    return Sketch(home, evidence, payloads) if whole else None


def _is_next(event: Event, times: dict[StreamKey, list[int]]) -> bool:
    """Whether an event is the next of its stream; `times` are those of the events before it."""
    meta = event.meta
    known = times.get((meta.agent_id, meta.incarnation))
    if known is None:
        known = times[meta.agent_id, meta.incarnation] = []
    known.append(meta.recorded_at_us)
    return meta.seq == len(known)
