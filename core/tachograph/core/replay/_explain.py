"""A divergence in full, line by line, for text."""

from __future__ import annotations

from collections.abc import Iterator

from tachograph.core.replay._fields import show
from tachograph.core.replay._phrases import doing
from tachograph.core.replay._sentence import REPLAY, Sides
from tachograph.core.replay._values import Candidate, Divergence, FieldChange, Step

_PAYLOAD_CHARACTERS_MAX = 400
_CHANGES_SHOWN = 8


def explain(divergence: Divergence, sides: Sides = REPLAY) -> list[str]:
    """Both sides with their arguments, what differs, and what the replay may have meant.

    Values are JSON; a terminal still has to be guarded against what is in them.

    Args:
        divergence: with its sentence.
        sides: what the sides are called there; by default a recording and its replay.
    """
    one, other = sides.recorded.removeprefix("the "), sides.replayed.removeprefix("the ")
    return [
        f"{divergence.kind}: {divergence.sentence}",
        *_cause(divergence),
        *_both(divergence, one, other),
        *_changes(divergence.changes, "  ", (one, other)),
        *_candidates(divergence.candidates, sides.recorded, (one, other)),
    ]


def _both(divergence: Divergence, one: str, other: str) -> Iterator[str]:
    if divergence.recorded is None and divergence.replayed is None:
        return  # an input went past the boundary, and no step shows it
    yield from _side(one, divergence.recorded, divergence.event_id)
    yield from _side(other, divergence.replayed, _made_at(divergence.replayed))


def _cause(divergence: Divergence) -> Iterator[str]:
    if divergence.unrecorded is not None:
        yield f"  mend it    {divergence.unrecorded.remedy}"


def _made_at(step: Step | None) -> str | None:
    """Where control logic was, or raised; any other end of a replay is made where control logic is no more."""
    return step.where if step is not None and (step.kind != "end" or step.seq or step.error_type) else None


def _side(side: str, step: Step | None, at: str | None) -> Iterator[str]:
    if step is None:
        yield f"  {side:<10} nothing more"
        return
    yield f"  {side:<10} {doing(step)}{f'   [{at}]' if at else ''}"
    if doing(step, len(step.arguments) * 2 + _PAYLOAD_CHARACTERS_MAX) != doing(step):
        yield f"  {'':<10} {show(step.arguments, _PAYLOAD_CHARACTERS_MAX)}"


def _changes(changes: tuple[FieldChange, ...], indent: str, names: tuple[str, str]) -> Iterator[str]:
    if len(changes) == 1 and changes[0].path == "$":
        return  # both sides say it already
    for change in changes[:_CHANGES_SHOWN]:
        yield f"{indent}{change.path}"
        yield f"{indent}  - {change.recorded or '(nothing)'}   ({names[0]})"
        yield f"{indent}  + {change.replayed or '(nothing)'}   ({names[1]})"
    if len(changes) > _CHANGES_SHOWN:
        yield f"{indent}… and {len(changes) - _CHANGES_SHOWN} more"


def _candidates(candidates: tuple[Candidate, ...], whole: str, names: tuple[str, str]) -> Iterator[str]:
    for candidate in candidates:
        fields = len(candidate.changes)
        like = (
            f"{fields} field{'' if fields == 1 else 's'} differ{'s' if fields == 1 else ''}" if fields else "the same"
        )
        yield f"  nearest    step {candidate.step.number} of {whole} {doing(candidate.step)}: {like}"
        yield from _changes(candidate.changes[:2], "             ", names)
