"""`tacho show EVENT`: everything that one event says; with `--raw` also what redaction took out of it."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import cast

from tachograph.control._answer import Answer, Document
from tachograph.control._homes import load_run, open_home, resolve_run
from tachograph.control._raw_access import Asked, asked_of
from tachograph.control._screen import Screen, Span
from tachograph.control._settings import Settings
from tachograph.core.canonical import display
from tachograph.core.causality import EventId
from tachograph.core.errors import EvidenceBroken, InvalidSetting, MissingBody, TachographError
from tachograph.core.sealing import ERROR_ARGUMENTS
from tachograph.schemas import Body, Error, Event
from tachograph.stores import Home

ReadBody = Callable[[Body, str], bytes]
"""Gives a body's bytes; the second argument is the field that holds it."""


def is_event(text: str) -> bool:
    """Whether a person means an event: ids of runs have no slash."""
    return "/" in text


def show_event(arguments: argparse.Namespace, settings: Settings) -> Answer:
    """One event.

    Raises:
        UsageError: `--raw` without a reason.
        InvalidSetting: the run has no such event.
        RawUnavailable: the raw form cannot be had.
        KeyRefused: the key is not here, or was shredded.
    """
    asked = asked_of(arguments)
    home = open_home(settings)
    event = _found(home, str(arguments.run))
    event_id = _id(event)
    read = _redacted(home, event_id)
    if asked is not None:
        read = _audited(home, event, asked)
    document = _document(event, read, raw=asked is not None)
    return Answer(document, lambda screen: _render(screen, document))


def _found(home: Home, text: str) -> Event:
    run, _, rest = text.partition("/")
    run_id = resolve_run(home, run)
    asked = EventId.parse(f"{run_id}/{rest}")
    for event in load_run(home, run_id).events:
        if _id(event) == str(asked):
            return event
    raise InvalidSetting("EVENT", text, "the run has no such event; `tacho timeline RUN --json` names them")


def _redacted(home: Home, event_id: str) -> ReadBody:
    return lambda body, field: home.body(body, event_id)


def _audited(home: Home, event: Event, asked: Asked) -> ReadBody:
    """Every raw body of an event, read before and told to the audit log: who is refused is told, too."""
    try:
        found = _raw(home, event)
    except TachographError as error:
        asked.tell(home, _id(event), f"refused: {error}")
        raise
    asked.tell(home, _id(event), "shown")
    return lambda body, field: found[field]


def _raw(home: Home, event: Event) -> dict[str, bytes]:
    """The raw form of each body, by its field; a key is needed only where something was taken out."""
    event_id = _id(event)
    bodies = dict(_bodies(event))
    found = {field: home.body(body, event_id) for field, body in bodies.items()}
    if any(body.redacted for body in bodies.values()):
        sealed = home.raw.run(event.meta.run_id)
        found = {field: sealed.read(event_id, field, body, found[field]) for field, body in bodies.items()}
    return found


def _bodies(event: Event) -> list[tuple[str, Body]]:
    found: list[tuple[str, Body]] = []
    for field in dataclasses.fields(event):
        value = cast("object", getattr(event, field.name))
        if isinstance(value, Error) and value.arguments is not None:
            found.append((ERROR_ARGUMENTS, value.arguments))
        elif isinstance(value, Body):
            found.append((field.name, value))
    return found


def _document(event: Event, read: ReadBody, *, raw: bool) -> dict[str, Document]:
    meta = event.meta
    return {
        "event_id": _id(event),
        "type": type(event).__name__,
        "agent": meta.agent_id,
        "recorded_at_us": meta.recorded_at_us,
        "logical_time_us": meta.logical_time_us,
        "trace": meta.trace,
        "hash": meta.hash.hex(),
        "causes": [f"{one.run_id}/{one.agent_id}#{one.incarnation}.{one.seq}" for one in meta.causes],
        "raw": raw,
        "fields": {
            field.name: _plain(cast("object", getattr(event, field.name)), field.name, read)
            for field in dataclasses.fields(event)
            if field.name != "meta"
        },
    }


def _plain(value: object, field: str, read: ReadBody) -> Document:
    if isinstance(value, Body):
        return _body(value, field, read)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Enum):
        return cast("Document", value.value)
    if isinstance(value, tuple):
        return [_plain(item, field, read) for item in cast("tuple[object, ...]", value)]
    if dataclasses.is_dataclass(value):
        return {
            inner.name: _plain(cast("object", getattr(value, inner.name)), f"{field}.{inner.name}", read)
            for inner in dataclasses.fields(value)
        }
    return cast("Document", value)


def _body(body: Body, field: str, read: ReadBody) -> Document:
    said: dict[str, Document] = {"digest": body.digest.hex(), "size": body.size, "redacted": body.redacted}
    try:
        return said | {"value": cast("Document", display(read(body, field)))}
    except MissingBody as error:
        return said | {"missing": error.reason}
    except EvidenceBroken as error:
        return said | {"missing": str(error)}


def _render(screen: Screen, document: Mapping[str, Document]) -> None:
    screen.line(Span(str(document["type"]), "bold"), f"  {document['event_id']}")
    at = datetime.fromtimestamp(cast("int", document["recorded_at_us"]) / 1_000_000, UTC)
    screen.line("  ", f"recorded {at.isoformat(' ', 'milliseconds')}")
    if document["trace"] is not None:
        screen.line("  ", f"trace {document['trace']}")
    for cause in cast("list[str]", document["causes"]):
        screen.line("  ", f"after {cause}")
    if document["raw"]:
        screen.line("  ", Span("raw: nothing is redacted here", "warn"))
    screen.line()
    for name, value in cast("Mapping[str, Document]", document["fields"]).items():
        if value is not None:
            screen.wrapped(
                (json.dumps(_shown(value), ensure_ascii=False),), indent=4, head=(Span(f"  {name}  ", "dim"),)
            )


def _shown(value: Document) -> Document:
    """A field for a person: of a body only what is in it."""
    if isinstance(value, Mapping) and "digest" in value and "redacted" in value:
        return value["value"] if "value" in value else f"(body missing: {value.get('missing')})"
    return value


def _id(event: Event) -> str:
    meta = event.meta
    return str(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq))
