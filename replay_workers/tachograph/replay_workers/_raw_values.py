"""Hands control logic what it got when it was recorded, where a run's raw bodies can be opened, and tokens where not.

Only what comes back to control logic is raw. Steps stay as they were recorded: what control logic does is redacted before it is
compared, so that nothing raw comes into a verdict's steps.
"""

from __future__ import annotations

from dataclasses import replace

from tachograph.core.errors import RawUnavailable
from tachograph.core.replay import Fixture, Piece, RecordedError, StreamSteps
from tachograph.core.sealing import ERROR_ARGUMENTS
from tachograph.replay_workers._evidence import Evidence, event_name
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import AgentStarted, Body, CallChunk, CallFinished, Error, Event, MessageReceived, RunStarted
from tachograph.stores import Home, RawRun


def with_raw_values(home: Home, evidence: Evidence) -> None:
    """Put raw values into the units of a run.

    Raises:
        InvalidSetting: the extra `raw` is not installed.
        KeyRefused: the run was recorded without, or its key is not here.
        StoreUnavailable: the raw bodies cannot be read.
    """
    values = _RawValues(home.raw.run(evidence.run_id), evidence)
    evidence.units[:] = [values.unit(unit) for unit in evidence.units]


class _RawValues:
    def __init__(self, sealed: RawRun, evidence: Evidence) -> None:
        self._sealed = sealed
        self._events: dict[tuple[str, int, int], Event] = {
            (event.meta.agent_id, event.meta.incarnation, event.meta.seq): event for event in evidence.events
        }

    def unit(self, unit: Unit) -> Unit:
        """The unit with raw values in place of tokens, as far as they can be had."""
        made = replace(unit, streams=tuple(self._stream(stream) for stream in unit.streams))
        start = self._events.get((*unit.key, 1))
        if not unit.arguments_redacted or not isinstance(start, RunStarted | AgentStarted):
            return made
        arguments = self._read(start, "arguments", start.arguments, unit.arguments)
        return made if arguments is None else replace(made, arguments=arguments, arguments_redacted=False)

    def _stream(self, stream: StreamSteps) -> StreamSteps:
        key = (stream.agent_id, stream.incarnation)
        fixtures = [
            self._fixture(key, fixture) if fixture is not None and fixture.redacted else fixture
            for fixture in stream.fixtures
        ]
        return replace(stream, fixtures=tuple(fixtures))

    def _fixture(self, key: tuple[str, int], fixture: Fixture) -> Fixture:
        event = self._events.get((*key, fixture.seq))
        result, error = fixture.result, fixture.error
        whole = True
        if isinstance(event, CallFinished | MessageReceived) and result is not None:
            name, body = ("body", event.body) if isinstance(event, MessageReceived) else ("result", event.result)
            raw = self._read(event, name, body, result)
            result, whole = (result, False) if raw is None else (raw, whole)
        if isinstance(event, CallFinished) and event.error is not None and error is not None:
            known = self._error(event, event.error, error)
            error, whole = (error, False) if known is None else (known, whole)
        pieces = tuple(self._piece(key, piece) if piece.redacted else piece for piece in fixture.pieces)
        redacted = not whole or any(piece.redacted for piece in pieces)
        return replace(fixture, result=result, error=error, pieces=pieces, redacted=redacted)

    def _error(self, event: Event, recorded: Error, error: RecordedError) -> RecordedError | None:
        if error.arguments is None:
            return error
        raw = self._read(event, ERROR_ARGUMENTS, recorded.arguments, error.arguments)
        return None if raw is None else replace(error, arguments=raw)

    def _piece(self, key: tuple[str, int], piece: Piece) -> Piece:
        event = self._events.get((*key, piece.seq))
        if not isinstance(event, CallChunk):
            return piece
        raw = self._read(event, "data", event.data, piece.data)
        return piece if raw is None else replace(piece, data=raw, redacted=False)

    def _read(self, event: Event, name: str, body: Body | None, redacted: bytes) -> bytes | None:
        if body is None:
            return redacted
        try:
            return self._sealed.read(event_name(event), name, body, redacted)
        except RawUnavailable:
            return None
