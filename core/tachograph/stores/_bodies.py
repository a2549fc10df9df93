"""Checking that the bodies which events name are there and are what they were."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

from tachograph.core.canonical import Digester, group_keys
from tachograph.schemas import Body, BodyErased, Error, Event
from tachograph.stores._chain import Place
from tachograph.stores._findings import Finding, FindingKind


class Reference(NamedTuple):
    """The first event that names an object."""

    event_id: str
    body_digest: bytes


@cache
def carriers(cls: type[Event]) -> tuple[str, ...]:
    """The fields of an event that may hold a body."""
    return tuple(
        field.name for field in dataclasses.fields(cls) if "Body" in str(field.type) or "Error" in str(field.type)
    )


def bodies_of(event: Event) -> Iterator[Body]:
    """Every body that an event carries."""
    kind: type = type(event)
    for name in carriers(kind):
        found = getattr(event, name)
        if type(found) is Error:
            found = found.arguments
        if type(found) is Body:
            yield found


class _Objects(Protocol):
    """What is checked."""

    def get(self, key: bytes) -> bytes | None: ...

    def path_of(self, key: bytes) -> Path: ...


class BodyCheck:
    """Collects the objects that events name, then checks each of them once."""

    def __init__(self, objects: _Objects, digester: Digester) -> None:
        self._objects = objects
        self._digester = digester
        self._references: dict[bytes, Reference] = {}
        self._erased: set[bytes] = set()
        self.findings: list[Finding] = []
        self.inline = 0

    @property
    def count(self) -> int:
        """Bodies and objects looked at."""
        return self.inline + len(self._references)

    def add(self, event: Event, place: Place, name: Callable[[], str]) -> None:
        """Take in an event's bodies; inline ones are checked at once."""
        for body in bodies_of(event):
            if body.inline is None:
                for key in body.chunks:
                    self._references.setdefault(key, Reference(name(), body.digest))
                continue
            self.inline += 1
            if self._digester.digest(body.inline) != body.digest:
                sentence = f"a body in {name()} does not have its digest {body.digest.hex()}."
                self.findings.append(Finding(FindingKind.BODY_CHANGED, "damage", *place, name(), sentence))
        if type(event) is BodyErased:
            self._erased.add(event.digest)

    def join(self, references: Mapping[bytes, Reference], erased: Iterable[bytes], inline: int) -> None:
        """Take in what was gathered elsewhere; the inline bodies were checked there."""
        for key, reference in references.items():
            self._references.setdefault(key, reference)
        self._erased.update(erased)
        self.inline += inline

    def finish(self, progress: Callable[[int, int], None]) -> None:
        """Check every object that was named, and those that they name."""
        todo = list(self._references)
        for number, key in enumerate(todo):  # grows while it is walked: a group names further objects
            progress(number, len(todo))
            reference = self._references[key]
            for inner in group_keys(self._checked(key, reference)):
                if inner not in self._references:
                    self._references[inner] = reference
                    todo.append(inner)

    def _checked(self, key: bytes, reference: Reference) -> bytes:
        """The object, or nothing where it is not there or not what it was."""
        data = self._objects.get(key)
        if data is None:
            if reference.body_digest not in self._erased:
                self._find(FindingKind.BODY_MISSING, key, reference, "is not in the object store")
            return b""
        if self._digester.digest(data) != key:
            self._find(FindingKind.BODY_CHANGED, key, reference, "is not what was stored")
            return b""
        return data

    def _find(self, kind: FindingKind, key: bytes, reference: Reference, what: str) -> None:
        path = self._objects.path_of(key)
        name = f"objects/{path.parent.name}/{path.name}"
        sentence = f"the object {key.hex()} {what}; {reference.event_id} needs it."
        self.findings.append(Finding(kind, "damage", name, 0, reference.event_id, sentence))
