"""Verdicts from JSON: the inverse of `verdict_json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from tachograph.core.canonical import JsonValue
from tachograph.core.errors import UnreadableInput
from tachograph.core.replay._values import (
    Candidate,
    Divergence,
    DivergenceKind,
    FieldChange,
    Level,
    Step,
    StepKind,
    UnrecordedInput,
    Verdict,
    VerdictStatus,
)
from tachograph.schemas import CallOutcome, EndOutcome

_Source = Literal["clock", "random", "id", "network", "file", "process"]

_REMEDY = "Give what `verdict_json` wrote, of this release or an older one."


class _Object:
    """A JSON object whose members are read by name and type."""

    def __init__(self, value: JsonValue, what: str) -> None:
        if not isinstance(value, dict):
            raise UnreadableInput(what, f"it is {type(value).__name__}, not an object", _REMEDY)
        self._members = value
        self._what = what

    def member(self, name: str) -> _Object:
        return _Object(self._get(name), f"{self._what}.{name}")

    def maybe_member(self, name: str) -> _Object | None:
        return None if self._get(name) is None else self.member(name)

    def members(self, name: str) -> list[_Object]:
        return [_Object(item, f"{self._what}.{name}[{index}]") for index, item in enumerate(self._items(name))]

    def text(self, name: str) -> str:
        found = self.maybe_text(name)
        if found is None:
            raise self._wrong(name, "text")
        return found

    def maybe_text(self, name: str) -> str | None:
        found = self._get(name)
        if found is not None and not isinstance(found, str):
            raise self._wrong(name, "text")
        return found

    def whole(self, name: str) -> int:
        found = self.maybe_whole(name)
        if found is None:
            raise self._wrong(name, "a whole number")
        return found

    def maybe_whole(self, name: str) -> int | None:
        found = self._get(name)
        if found is not None and (not isinstance(found, int) or isinstance(found, bool)):
            raise self._wrong(name, "a whole number")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(str(item) for item in self._items(name))

    def counts(self, name: str) -> Mapping[str, int]:
        inner = self.member(name)
        return {key: inner.whole(key) for key in inner.names()}

    def names(self) -> list[str]:
        return list(self._members)

    def one_of(self, name: str, allowed: Sequence[str]) -> str:
        found = self.text(name)
        if found not in allowed:
            raise self._wrong(name, f"one of {', '.join(allowed)}")
        return found

    def _items(self, name: str) -> list[JsonValue]:
        found = self._get(name)
        if not isinstance(found, list):
            raise self._wrong(name, "a list")
        return found

    def _get(self, name: str) -> JsonValue:
        return self._members.get(name)

    def _wrong(self, name: str, wanted: str) -> UnreadableInput:
        found = self._members.get(name)
        return UnreadableInput(f"{self._what}.{name}", f"it is {found!r:.80}, not {wanted}", _REMEDY)


def verdict_from_json(value: JsonValue) -> Verdict:
    """The verdict that `verdict_json` wrote.

    Raises:
        UnreadableInput: the value is not one; the error names the member.
    """
    read = _Object(value, "verdict")
    levels, steps, code = read.member("levels"), read.member("steps"), read.member("code")
    first = read.maybe_member("first_divergence")
    return Verdict(
        status=VerdictStatus(read.one_of("status", list(VerdictStatus))),
        control_flow=_level(levels, "control_flow"),
        state=_level(levels, "state"),
        content=_level(levels, "content"),
        first_divergence=_divergence(first) if first is not None else None,
        divergences=tuple(_divergence(found) for found in read.members("divergences")),
        fidelity=read.text("fidelity"),
        taints=read.texts("taints"),
        missing=read.texts("missing"),
        served=read.counts("served"),
        live=read.counts("live"),
        blocked=tuple(_read(found) for found in read.members("blocked")),
        steps_recorded=steps.whole("recorded"),
        steps_replayed=steps.whole("replayed"),
        agents=read.whole("agents"),
        recorded_code=code.maybe_text("recorded"),
        replayed_code=code.maybe_text("replayed"),
    )


def divergence_from_json(value: JsonValue) -> Divergence:
    """The divergence that `divergence_json` wrote.

    Raises:
        UnreadableInput: the value is not one.
    """
    return _divergence(_Object(value, "divergence"))


def step_from_json(value: JsonValue) -> Step:
    """The step that `step_json` wrote.

    Raises:
        UnreadableInput: the value is not one.
    """
    return _step(_Object(value, "step"))


def read_from_json(value: JsonValue) -> UnrecordedInput:
    """The read past the boundary that `read_json` wrote.

    Raises:
        UnreadableInput: the value is not one.
    """
    return _read(_Object(value, "read"))


def _divergence(read: _Object) -> Divergence:
    recorded, replayed = read.maybe_member("recorded"), read.maybe_member("replayed")
    unrecorded = read.maybe_member("unrecorded")
    return Divergence(
        kind=DivergenceKind(read.one_of("kind", list(DivergenceKind))),
        agent_id=read.text("agent"),
        incarnation=read.whole("incarnation"),
        step=read.whole("step"),
        event_id=read.maybe_text("event"),
        hlc=read.whole("hlc"),
        recorded=_step(recorded) if recorded is not None else None,
        replayed=_step(replayed) if replayed is not None else None,
        changes=_changes(read),
        candidates=tuple(Candidate(_step(one.member("step")), _changes(one)) for one in read.members("candidates")),
        unrecorded=_read(unrecorded) if unrecorded is not None else None,
        recorded_count=read.maybe_whole("recorded_count"),
        asked_count=read.maybe_whole("asked_count"),
        sentence=read.text("sentence"),
    )


def _step(read: _Object) -> Step:
    kind = cast("StepKind", read.text("kind"))
    result = read.maybe_text("result")
    return Step(
        agent_id=read.text("agent"),
        incarnation=read.whole("incarnation"),
        number=read.whole("number"),
        kind=kind,
        name=read.text("name"),
        key=bytes.fromhex(read.text("key")),
        arguments=read.text("arguments").encode(),
        version=read.maybe_text("version"),
        seq=read.whole("seq"),
        hlc=read.whole("hlc"),
        outcome=_outcome(read, kind),
        result=result.encode() if result is not None else None,
        error_type=read.maybe_text("error_type"),
        where=read.maybe_text("where"),
    )


def _outcome(read: _Object, kind: StepKind) -> CallOutcome | EndOutcome | None:
    if read.maybe_text("outcome") is None:
        return None
    if kind == "end":
        return EndOutcome(read.one_of("outcome", list(EndOutcome)))
    return CallOutcome(read.one_of("outcome", list(CallOutcome)))


def _changes(read: _Object) -> tuple[FieldChange, ...]:
    changes = read.members("changes")
    return tuple(FieldChange(one.text("path"), one.text("recorded"), one.text("replayed")) for one in changes)


def _read(read: _Object) -> UnrecordedInput:
    source = read.one_of("source", ["clock", "random", "id", "network", "file", "process"])
    return UnrecordedInput(
        what=read.text("what"),
        source=cast("_Source", source),
        file=read.text("file"),
        line=read.whole("line"),
        remedy=read.text("remedy"),
        agent_id=read.text("agent"),
        after_step=read.whole("after_step"),
    )


def _level(read: _Object, name: str) -> Level:
    return cast("Level", read.one_of(name, ["reproduced", "diverged", "not_proved"]))
