"""Checking raw bodies: as far as a key is there, and saying what could not be checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tachograph.core.causality import EventId
from tachograph.core.errors import (
    EvidenceBroken,
    InvalidSetting,
    KeyRefused,
    RawUnavailable,
    StoreUnavailable,
    UnknownRun,
)
from tachograph.core.sealing import ERROR_ARGUMENTS
from tachograph.schemas import Body, Error, Event, UnsupportedSchema, decode, is_optional
from tachograph.stores._bodies import carriers
from tachograph.stores._findings import Finding, FindingKind
from tachograph.stores._home import Home
from tachograph.stores._raw_run import RawRun
from tachograph.stores._run_key import RunKey


class _Redacted(NamedTuple):
    """A body that redaction changed."""

    event_id: str
    field: str
    body: Body


class RawCheck:
    """Checks the raw bodies of a home's runs.

    Args:
        home: the home.
        run_ids: the runs to look at; None: all.
    """

    def __init__(self, home: Home, run_ids: Sequence[str] | None) -> None:
        self._home = home
        self._run_ids = run_ids
        self.findings: list[Finding] = []
        self.count = 0
        """Raw bodies looked at."""

    def run(self, progress: Callable[[int, int], None]) -> None:
        """Check them."""
        keys = [key for key in self._keys() if self._run_ids is None or key.run_id in self._run_ids]
        for number, key in enumerate(keys):
            progress(number, len(keys))
            try:
                self._check(key.run_id)
            except KeyRefused as error:
                self._unchecked(key.run_id, error.reason)
            except UnknownRun:
                continue  # its process died before its first event: there is nothing to check
            except (InvalidSetting, EvidenceBroken, StoreUnavailable) as error:
                self._unchecked(key.run_id, str(error))

    def _keys(self) -> Iterator[RunKey]:
        try:
            yield from self._home.raw.keys()
        except StoreUnavailable as error:
            self.findings.append(Finding(FindingKind.RAW_CHANGED, "damage", error.store, 0, None, str(error)))

    def _check(self, run_id: str) -> None:
        # First the events: what a living process adds meanwhile has its raw bodies before them.
        streams = self._streams(run_id)
        sealed = self._home.raw.run(run_id)
        for stream, bodies in streams.items():
            if any(sealed.has(one.event_id, one.field, one.body) for one in bodies):
                for one in bodies:
                    self._check_body(sealed, one)
            else:
                # A stream is recorded by one process from its beginning to its end: with raw bodies, or without.
                self._unchecked(run_id, f"of {stream} there are none: it was recorded without, or they were removed")

    def _streams(self, run_id: str) -> Mapping[str, Sequence[_Redacted]]:
        """The redacted bodies of every stream that has some."""
        streams: dict[str, list[_Redacted]] = {}
        for stored in self._home.log.read_run(run_id):
            event = _decoded(stored.payload)
            if event is None:
                continue
            meta = event.meta
            event_id = str(EventId(run_id, meta.agent_id, meta.incarnation, meta.seq))
            for name, body in redacted_of(event):
                stream = streams.setdefault(f"{meta.agent_id}#{meta.incarnation}", [])
                stream.append(_Redacted(event_id, name, body))
        return streams

    def _check_body(self, sealed: RawRun, one: _Redacted) -> None:
        self.count += 1
        try:
            sealed.check(one.event_id, one.field, one.body)
        except RawUnavailable as error:
            missing = not sealed.has(one.event_id, one.field, one.body)
            kind = FindingKind.RAW_MISSING if missing else FindingKind.RAW_CHANGED
            run_id = EventId.parse(one.event_id).run_id
            sentence = f"the raw form of {one.field} of {one.event_id} cannot be opened: {error.reason}."
            self.findings.append(Finding(kind, "damage", self._path(run_id), 0, one.event_id, sentence))

    def _path(self, run_id: str) -> str:
        return f"raw/{self._home.raw.directory_of(run_id).name}"

    def _unchecked(self, run_id: str, why: str) -> None:
        sentence = f"raw bodies of run {run_id} were not checked: {why}."
        self.findings.append(Finding(FindingKind.RAW_UNCHECKED, "warning", self._path(run_id), 0, None, sentence))


def redacted_of(event: Event) -> Iterator[tuple[str, Body]]:
    """Field and body, for every body of an event that redaction changed."""
    kind: type = type(event)
    for name in carriers(kind):
        found: object = getattr(event, name)
        where = name
        if isinstance(found, Error):
            found, where = found.arguments, ERROR_ARGUMENTS
        if isinstance(found, Body) and found.redacted:
            yield where, found


def _decoded(payload: bytes) -> Event | None:
    """An event; None where a newer release wrote it and says that others need not know it."""
    try:
        return decode(payload)
    except UnsupportedSchema:
        if is_optional(payload):
            return None
        raise
