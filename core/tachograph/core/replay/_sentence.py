"""A divergence in one sentence that says which side is the recording."""

from __future__ import annotations

from dataclasses import dataclass

from tachograph.core.replay._phrases import doing, doing_short, place, plainly, times
from tachograph.core.replay._values import Divergence, DivergenceKind, FieldChange, Step, UnrecordedInput

_SOURCES = {
    "clock": "reads the clock",
    "random": "draws randomness",
    "id": "makes an id",
    "network": "uses the network",
    "file": "touches a file",
    "process": "asks the operating system",
}


@dataclass(frozen=True, slots=True)
class Sides:
    """What the two sides of a divergence are called."""

    recorded: str
    replayed: str


REPLAY = Sides("the recording", "the replay")


def sentence(divergence: Divergence, sides: Sides = REPLAY) -> str:
    """One sentence for a person."""
    return f"{place(divergence.agent_id, divergence.step)} {_what(divergence, sides)}."


def read_sentence(read: UnrecordedInput) -> str:
    """A read that bypassed the boundary, in words, without the full stop."""
    what = _SOURCES[read.source]
    return f"Agent {read.agent_id!r} {what} past the boundary with {plainly(read.what)} at {plainly(read.file)}:{read.line}"


def _what(divergence: Divergence, sides: Sides) -> str:
    recorded, replayed = divergence.recorded, divergence.replayed
    match divergence.kind:
        case DivergenceKind.CALL_EXTRA:
            return f"{sides.replayed} {_doing(replayed)}, which {sides.recorded} does not; {sides.recorded} {_doing(recorded)}"
        case DivergenceKind.CALL_MISSING:
            return f"{sides.recorded} {_doing(recorded)}; {sides.replayed} leaves it out and {_doing(replayed)}"
        case DivergenceKind.REORDERED:
            return (
                f"{sides.recorded} first {_doing(recorded)}, {sides.replayed} first {_doing(replayed)}; "
                f"the steps are the same, their order is not"
            )
        case DivergenceKind.EXHAUSTED:
            return _used_up(divergence, sides)
        case DivergenceKind.UNRECORDED_INPUT:
            return f"{sides.recorded} {_doing(recorded)}, {sides.replayed} {_doing(replayed)}"
        case _:
            return _changed(divergence, sides)


def _used_up(divergence: Divergence, sides: Sides) -> str:
    asked, recorded = divergence.asked_count or 0, divergence.recorded_count or 0
    return (
        f"{sides.replayed} {_doing(divergence.replayed)} {times(asked)}, {sides.recorded} {times(recorded)}: "
        f"the recorded answers are used up"
    )


def _changed(divergence: Divergence, sides: Sides) -> str:
    recorded, replayed = divergence.recorded, divergence.replayed
    if recorded is None or replayed is None:
        return f"{sides.recorded} {_doing(recorded)}, {sides.replayed} {_doing(replayed)}"
    if recorded.version != replayed.version:
        return f"{sides.recorded} {doing_short(recorded)} {_version(recorded)}, {sides.replayed} {_version(replayed)}"
    if divergence.kind is DivergenceKind.OUTCOME_CHANGED and recorded.kind != "end":
        return f"both {_plural(recorded)}; {_endings(recorded, replayed, divergence.changes, sides)}"
    if recorded.key == replayed.key:
        return f"both {_plural(recorded)}, and the answer changed: {_fields(divergence.changes, 'is', sides)}"
    if not divergence.changes or recorded.kind == "end" or divergence.changes[0].path == "$":
        return f"{sides.recorded} {doing(recorded)}, {sides.replayed} {doing(replayed)}"
    return f"{sides.recorded} {doing_short(recorded)} with {_fields(divergence.changes, '=', sides)}"


def _version(step: Step) -> str:
    return "without a version" if step.version is None else f"in version {step.version!r}"


def _ended(step: Step) -> str:
    return (
        str(step.outcome) if step.error_type is None else f"with {plainly(step.error_type.removeprefix('builtins.'))}"
    )


def _endings(recorded: Step, replayed: Step, changes: tuple[FieldChange, ...], sides: Sides) -> str:
    if changes:
        return f"it ends {_ended(recorded)}, and {_fields(changes, 'is', sides)}"
    return f"in {sides.recorded} it ends {_ended(recorded)}, in {sides.replayed} {_ended(replayed)}"


def _plural(step: Step) -> str:
    verb, _, rest = doing(step).partition(" ")
    return f"{verb.removesuffix('s')} {rest}".rstrip()


def _fields(changes: tuple[FieldChange, ...], verb: str, sides: Sides) -> str:
    if not changes:
        return "in a way that no field shows"
    first = changes[0]
    more = f" (and {len(changes) - 1} more field{'s' if len(changes) > 2 else ''})" if len(changes) > 1 else ""
    if not first.recorded:
        return f"no {first.path} in {sides.recorded}, {sides.replayed} has {first.path} {verb} {first.replayed}{more}"
    if not first.replayed:
        return f"{first.path} {verb} {first.recorded}, {sides.replayed} has none{more}"
    if verb == "is":
        return f"{first.path} is {first.recorded} in {sides.recorded} and {first.replayed} in {sides.replayed}{more}"
    return f"{first.path} = {first.recorded}, {sides.replayed} with {first.replayed}{more}"


def _doing(step: Step | None) -> str:
    return doing(step) if step is not None else "does nothing more"
