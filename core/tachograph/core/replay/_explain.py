"""A divergence in full, line by line, for text."""

from __future__ import annotations

from collections.abc import Iterator

from tachograph.core.replay._fields import show
from tachograph.core.replay._phrases import doing
from tachograph.core.replay._values import Candidate, Divergence, FieldChange, Step

_PAYLOAD_CHARACTERS_MAX = 400
_CHANGES_SHOWN = 8


def explain(divergence: Divergence) -> list[str]:
    """Both sides with their arguments, what differs, and what the replay may have meant.

    Values are JSON; a terminal still has to be guarded against what is in them.
    """
    return [
        f"{divergence.kind}: {divergence.sentence}",
        *_cause(divergence),
        *_side("recording", divergence.recorded, divergence.event_id),
        *_side("replay", divergence.replayed, divergence.replayed.where if divergence.replayed else None),
        *_changes(divergence.changes, "  "),
        *_candidates(divergence.candidates),
    ]


def _cause(divergence: Divergence) -> Iterator[str]:
    if divergence.unrecorded is not None:
        yield f"  mend it    {divergence.unrecorded.remedy}"


def _side(side: str, step: Step | None, at: str | None) -> Iterator[str]:
    if step is None:
        yield f"  {side:<10} nothing more"
        return
    known = at if step.kind != "end" or side == "recording" else None  # an end is made where control logic is no more
    yield f"  {side:<10} {doing(step)}{f'   [{known}]' if known else ''}"
    if doing(step, len(step.arguments) * 2 + _PAYLOAD_CHARACTERS_MAX) != doing(step):
        yield f"  {'':<10} {show(step.arguments, _PAYLOAD_CHARACTERS_MAX)}"


def _changes(changes: tuple[FieldChange, ...], indent: str) -> Iterator[str]:
    if len(changes) == 1 and changes[0].path == "$":
        return  # both sides say it already
    for change in changes[:_CHANGES_SHOWN]:
        yield f"{indent}{change.path}"
        yield f"{indent}  - {change.recorded or '(nothing)'}   (recording)"
        yield f"{indent}  + {change.replayed or '(nothing)'}   (replay)"
    if len(changes) > _CHANGES_SHOWN:
        yield f"{indent}… and {len(changes) - _CHANGES_SHOWN} more"


def _candidates(candidates: tuple[Candidate, ...]) -> Iterator[str]:
    for candidate in candidates:
        fields = len(candidate.changes)
        like = (
            f"{fields} field{'' if fields == 1 else 's'} differ{'s' if fields == 1 else ''}" if fields else "the same"
        )
        yield f"  nearest    step {candidate.step.number} of the recording {doing(candidate.step)}: {like}"
        yield from _changes(candidate.changes[:2], "             ")
