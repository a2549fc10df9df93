"""Writes a fork as a run of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tachograph.core.canonical import decode_body, encode_body
from tachograph.core.causality import EventId
from tachograph.core.ports import ForkOptions
from tachograph.core.redaction import policy_of
from tachograph.replay_workers._evidence import Evidence
from tachograph.replay_workers._fork_draft import Draft, Payload
from tachograph.replay_workers._fork_fleet import Forked
from tachograph.replay_workers._fork_order import Entry, Place, UnitEvents, in_order
from tachograph.replay_workers._fork_writer import RunWriter
from tachograph.replay_workers._import import code_digest
from tachograph.replay_workers._places import StreamKey
from tachograph.schemas import AgentStarted, Cause, Event, Fidelity, MessageReceived, RunStarted, fields_of
from tachograph.stores import Home


def write_fork(
    home: Home, run_id: str, evidence: Evidence, options: ForkOptions, units: Sequence[Forked], at_us: int
) -> list[str]:
    """Write the fork's events.

    Args:
        home: where its parent is, too.
        run_id: the fork's id.
        evidence: of the parent.
        options: what was changed.
        units: what the units did.
        at_us: when this happens, microseconds since 1970.

    Returns:
        Sentences: messages that are others than in the recording, or were received and not sent.
    """
    return _Writing(home, run_id, evidence, options, units).write(at_us)


class _Writing:
    def __init__(
        self, home: Home, run_id: str, evidence: Evidence, options: ForkOptions, units: Sequence[Forked]
    ) -> None:
        self._home = home
        self._run_id = run_id
        self._evidence = evidence
        self._options = options
        self._recorded: dict[Place, Event] = {_place(event): event for event in evidence.events}
        self._forked = {one.planned.recorded.key: one for one in units}
        self._units = [_unit_events(one, self._recorded, evidence) for one in units]
        self._written: dict[Place, Cause] = {}
        self._openers: dict[StreamKey, list[StreamKey]] = {}

    def write(self, at_us: int) -> list[str]:
        entries, orphans = in_order(self._units, self._recorded)
        events = self._evidence.events
        shift = _shift(entries, max(event.meta.recorded_at_us for event in events), at_us)
        after = max(event.meta.hlc for event in events)
        with RunWriter(self._home, self._run_id, events[0].meta.tenant, after) as writer:
            for entry in entries:
                self._write(writer, entry, shift)
        return [*self._changed_messages(entries), *map(self._orphan, orphans)]

    def _write(self, writer: RunWriter, entry: Entry, shift: int) -> None:
        draft = entry.draft
        causes = [self._written[need] for need in entry.needs]
        if draft is None:
            kind, fields = self._start(writer, entry)
        else:
            kind, fields = draft.type, self._fields(writer, draft)
            causes += self._own_causes(writer, entry, draft)
        told = draft.told if draft is not None else None
        cause = writer.write(entry.stream, kind, fields, at_us=entry.at_us + shift, told_us=told, causes=causes)
        self._written[entry.stream, entry.seq] = cause

    def _start(self, writer: RunWriter, entry: Entry) -> tuple[str, dict[str, object]]:
        """The first event of a unit: as recorded, with the entry point and the code that were driven."""
        start = entry.unit.start
        one = self._forked[entry.stream]
        fields = _without_meta(start)
        fields["entrypoint"] = one.planned.driven.entrypoint
        if start.inputs is not None:
            fields["inputs"] = writer.body(self._inputs(start, one))
        if isinstance(start, RunStarted):
            fields["parent_run_id"] = self._evidence.run_id
            changes = encode_body(changes_of(self._evidence.run_id, self._options))
            fields["fork"] = writer.body(Payload(*policy_of(start.redaction).redact(changes, self._home.digester)))
        return type(start).__name__, fields

    def _inputs(self, start: RunStarted | AgentStarted, one: Forked) -> Payload:
        assert start.inputs is not None
        meta = start.meta
        event_id = str(EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq))
        data = self._home.body(start.inputs, event_id)
        versions = cast("dict[str, object]", decode_body(data))
        if one.planned.driven.code:
            versions["code_path"] = one.planned.driven.code[0]
        digest = code_digest(one.attempt.source) if one.attempt.source is not None else None
        if digest is not None and digest != versions.get("code_digest"):
            versions["code_digest"] = digest
            versions.pop("code_commit", None)
        return Payload(encode_body(versions), start.inputs.redacted)

    def _fields(self, writer: RunWriter, draft: Draft) -> dict[str, object]:
        fields: dict[str, object] = {}
        if draft.source is not None:
            fields = _without_meta(self._recorded[draft.stream, draft.source])
        fields |= draft.fields
        for name, payload in draft.bodies.items():
            fields[name] = writer.body(payload) if payload is not None else None
        if draft.type in ("CallFinished", "AgentFinished", "RunFinished") and "error" not in fields:
            fields["error"] = writer.error(draft.error) if draft.error is not None else None
        if draft.type == "EffectTransitioned":
            call_id = fields["effect_id"]
            assert isinstance(call_id, int)
            fields["effect_id"] = str(EventId(self._run_id, *draft.stream, call_id))
        return fields

    def _own_causes(self, writer: RunWriter, entry: Entry, draft: Draft) -> list[Cause]:
        """Causes within the unit: who opened a stream, and the streams that ended before the unit's own."""
        own = _place(entry.unit.start)[0]
        streams = self._openers.setdefault(own, [])
        if draft.type == "AgentStarted" and draft.cause is not None:
            streams.append(draft.stream)
            found = [writer.head(draft.cause[0])]
        elif draft.type in ("RunFinished", "AgentFinished") and draft.stream == own:
            found = [writer.head(stream) for stream in streams]
        else:
            found = []
        return [cause for cause in found if cause is not None]

    def _changed_messages(self, entries: Sequence[Entry]) -> list[str]:
        return list(
            dict.fromkeys(
                f"{entry.stream[0]!r} sent {entry.draft.fields['to_agent_id']!r} a message that its parent did not send "
                f"({EventId(self._run_id, *entry.stream, entry.seq)})"
                for entry in entries
                if entry.draft is not None and entry.draft.type == "MessageSent" and entry.draft.origin is None
            )
        )

    def _orphan(self, entry: Entry) -> str:
        draft = entry.draft
        event = self._recorded.get((draft.stream, draft.source or 0)) if draft is not None else None
        sender = event.from_agent_id if isinstance(event, MessageReceived) else "somebody"
        return (
            f"{entry.stream[0]!r} was given the recorded message of {sender!r}, "
            f"which {sender!r} did not send before it in the fork"
        )


def changes_of(parent_run_id: str, options: ForkOptions) -> dict[str, object]:
    """The list of changes as it is recorded."""
    return {
        "parent_run_id": parent_run_id,
        "from_event": options.from_event,
        "overrides": [{"what": one.what, "event_id": one.event_id, "value": one.value} for one in options.overrides],
        "entrypoints": dict(options.entrypoints),
        "code": options.code,
        "miss": options.miss,
    }


def _unit_events(one: Forked, recorded: Mapping[Place, Event], evidence: Evidence) -> UnitEvents:
    unit = one.planned.recorded
    start = recorded[unit.key, 1]
    assert isinstance(start, RunStarted | AgentStarted)
    drafts = [*one.drafts]
    if isinstance(start, RunStarted) and evidence.fidelity != Fidelity.COMPLETE and drafts:
        drafts.insert(len(drafts) - 1, _grade(unit.key, drafts[-1].at, evidence))
    return UnitEvents(start, unit.started_at_us, drafts)


def _grade(stream: StreamKey, at: float, evidence: Evidence) -> Draft:
    """What the fork's evidence is good for: no more than its parent's. It stands before the run's last event."""
    missing = f"more than the grade {evidence.fidelity}: a fork is no better than its parent"
    fields: dict[str, object] = {"source": evidence.run_id, "fidelity": evidence.fidelity, "missing": [missing]}
    return Draft(stream, "RunImported", at, None, fields, {"details": None})


def _shift(entries: Sequence[Entry], ended_us: int, at_us: int) -> int:
    """From the parent's clock to the fork's, which ends now, and begins behind the parent's end."""
    first = min(entry.at_us for entry in entries)
    last = max(entry.at_us for entry in entries)
    return max(at_us - last, ended_us + 1 - first)


def _without_meta(event: Event) -> dict[str, object]:
    fields = fields_of(event)
    del fields["meta"]
    return fields


def _place(event: Event) -> Place:
    meta = event.meta
    return (meta.agent_id, meta.incarnation), meta.seq
