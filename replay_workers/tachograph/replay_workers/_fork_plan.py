"""From the options of a fork to what changes in each unit of its parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tachograph.core.canonical import encode_body
from tachograph.core.causality import EventId
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ForkOptions, Override
from tachograph.replay_workers._cut import with_code
from tachograph.replay_workers._evidence import Evidence
from tachograph.replay_workers._fork_change import CallKey, Change, Decision, Letter
from tachograph.replay_workers._fork_letters import letters_of
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import CallFinished, CallStarted, EffectState, EffectTransitioned, Event, MessageReceived

_DECIDED = (EffectState.RECONCILED, EffectState.FAILED)


@dataclass(frozen=True, slots=True)
class Planned:
    """A unit, and what is different for it."""

    recorded: Unit
    driven: Unit
    """With the entry point and the code that the fork drives."""
    change: Change
    letters: dict[CallKey, Letter]
    """For each recorded `receive` the message that came from another unit."""
    clocks: dict[CallKey, int]
    """When it was received."""


def plan_of(evidence: Evidence, options: ForkOptions) -> list[Planned]:
    """What changes in each unit.

    Raises:
        InvalidSetting: an option names what the run does not have.
    """
    events = {str(_id(event)): event for event in evidence.events}
    fork_point = _event("--from", options.from_event, events) if options.from_event is not None else None
    overrides = _overrides(options.overrides, events)
    _check_entrypoints(evidence, options.entrypoints)
    at = fork_point.meta.hlc if fork_point is not None else None
    decisions = tuple(_decisions(evidence.events))
    letters = letters_of(evidence.events)
    clocks = {
        (*_key(event), event.call_id): event.meta.hlc for event in evidence.events if isinstance(event, MessageReceived)
    }
    planned: list[Planned] = []
    for unit in evidence.units:
        keys = {(stream.agent_id, stream.incarnation) for stream in unit.streams}
        mine = {key: body for key, (body, _) in overrides.items() if key[:2] in keys}
        earliest = min((hlc for key, (_, hlc) in overrides.items() if key[:2] in keys), default=None)
        swapped = unit.entrypoint in options.entrypoints or options.code is not None
        here = fork_point is not None and _key(fork_point) in keys
        change = Change(
            changed=swapped or bool(mine) or here,
            from_hlc=at if at is not None else (0 if swapped else earliest or 0),
            miss=options.miss,
            overrides=mine,
            letters={key: one for key, one in letters.items() if key[:2] in keys and one.sender in keys},
            decisions=decisions,
        )
        others = {key: one for key, one in letters.items() if key[:2] in keys and one.sender not in keys}
        planned.append(Planned(unit, _driven(unit, options), change, others, clocks))
    _check_order(overrides, at, options)
    _check_driven(planned, overrides, fork_point, options)
    return planned


def _driven(unit: Unit, options: ForkOptions) -> Unit:
    entrypoint = options.entrypoints.get(unit.entrypoint, unit.entrypoint)
    return replace(with_code(unit, options), entrypoint=entrypoint)


def _event(option: str, event_id: str, events: Mapping[str, Event]) -> Event:
    found = events.get(str(EventId.parse(event_id)))
    if found is None:
        raise InvalidSetting(option, event_id, "the run has no such event; `tacho timeline RUN --json` lists them")
    return found


def _overrides(given: Sequence[Override], events: Mapping[str, Event]) -> dict[CallKey, tuple[bytes, int]]:
    """Call to the body that answers it, and the clock of the call."""
    found: dict[CallKey, tuple[bytes, int]] = {}
    for one in given:
        call = _called(one, events)
        key = (call.meta.agent_id, call.meta.incarnation, call.meta.seq)
        if key in found:
            raise InvalidSetting(f"--{one.what}", one.event_id, "its answer is given twice")
        found[key] = encode_body(one.value), call.meta.hlc
    return found


def _called(one: Override, events: Mapping[str, Event]) -> CallStarted:
    """The call whose answer is given; named by its start or by its end."""
    option = f"--{one.what}"
    event = _event(option, one.event_id, events)
    if isinstance(event, CallFinished | MessageReceived):
        place = EventId.parse(one.event_id)
        event = events.get(str(place._replace(seq=event.call_id)), event)
    if not isinstance(event, CallStarted):
        raise InvalidSetting(option, one.event_id, f"it is a {type(event).__name__}, and no call that is answered")
    fits = {"message": event.kind == "messages", "approval": event.kind == "approval"}.get(
        one.what, event.kind not in ("messages", "approval")
    )
    if not fits:
        fitting = {"messages": "--message", "approval": "--approval"}.get(event.kind, "--result")
        raise InvalidSetting(option, one.event_id, f"it is a call of kind {event.kind!r}; use `{fitting}`")
    return event


def _check_entrypoints(evidence: Evidence, given: Mapping[str, str]) -> None:
    known = {unit.entrypoint for unit in evidence.units}
    for name in given:
        if name not in known:
            shown = ", ".join(sorted(known)) or "none"
            raise InvalidSetting("--replace", name, f"no unit of the run was driven by it; the run's are {shown}")


def _check_order(overrides: Mapping[CallKey, tuple[bytes, int]], at: int | None, options: ForkOptions) -> None:
    for (agent_id, incarnation, seq), (_, hlc) in overrides.items():
        if at is not None and hlc < at:
            name = f"{agent_id}#{incarnation}.{seq}"
            raise InvalidSetting("--from", options.from_event, f"the override of {name} lies before the fork point")


def _check_driven(
    planned: Sequence[Planned],
    overrides: Mapping[CallKey, tuple[bytes, int]],
    fork_point: Event | None,
    options: ForkOptions,
) -> None:
    driven = {(stream.agent_id, stream.incarnation) for one in planned for stream in one.recorded.streams}
    if fork_point is not None and _key(fork_point) not in driven:
        raise InvalidSetting("--from", options.from_event, "no control logic of the run can be driven to this event")
    for agent_id, incarnation, seq in overrides:
        if (agent_id, incarnation) not in driven:
            name = f"{agent_id}#{incarnation}.{seq}"
            raise InvalidSetting("override", name, "no control logic of the run can be driven to this event")


def _decisions(events: Sequence[Event]) -> list[Decision]:
    """What reconcilers and persons decided while the run went on."""
    return [
        Decision(event.meta.hlc, event.effect_id, event.name, event.idempotency_key, event.to_state)
        for event in events
        if isinstance(event, EffectTransitioned)
        and event.from_state is EffectState.UNKNOWN
        and event.to_state in _DECIDED
    ]


def _key(event: Event) -> StreamKey:
    return event.meta.agent_id, event.meta.incarnation


def _id(event: Event) -> EventId:
    meta = event.meta
    return EventId(meta.run_id, meta.agent_id, meta.incarnation, meta.seq)
