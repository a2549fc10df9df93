"""From what the replays of a run's units showed to one verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tachograph.core.replay._levels import UnitResult, levels_of
from tachograph.core.replay._sentence import read_sentence
from tachograph.core.replay._values import (
    Divergence,
    DivergenceKind,
    Level,
    UnrecordedInput,
    Verdict,
    VerdictStatus,
)


def verdict(
    units: Sequence[UnitResult],
    *,
    fidelity: str = "COMPLETE",
    missing: Iterable[str] = (),
    taints: Iterable[str] = (),
    recorded_code: str | None = None,
    replayed_code: str | None = None,
) -> Verdict:
    """The verdict on a run.

    A divergence counts even where other evidence is missing: it stands in what there is. Without one, missing evidence,
    or a read past the boundary that had no visible consequence, makes it LIMITED; only the rest is REPRODUCED.

    Args:
        units: one result for each of the run's units.
        fidelity: the grade of the run's evidence; it caps what can be proved.
        missing: sentences, for the run as a whole.
        taints: sentences, for the run as a whole.
        recorded_code: digest or commit of the code that was recorded.
        replayed_code: the same of the code that was driven.
    """
    divergences = first_of_each(units)
    gaps = _unique([*missing, *(text for unit in units for text in unit.missing), *_not_reached(units, divergences)])
    reads = tuple(dict.fromkeys(read for unit in units for read in unit.blocked))
    silent = reads if not divergences else ()
    levels = levels_of(units, fidelity)
    return Verdict(
        status=_status(divergences, gaps, levels),
        control_flow=levels[0],
        state=levels[1],
        content=levels[2],
        first_divergence=divergences[0] if divergences else _unseen(silent),
        divergences=divergences,
        fidelity=fidelity,
        taints=_unique([*taints, *(text for unit in units for text in unit.taints)]),
        missing=gaps,
        served=_sum(unit.served for unit in units),
        live=_sum(unit.live for unit in units),
        blocked=reads,
        steps_recorded=sum(unit.steps_recorded for unit in units),
        steps_replayed=sum(unit.steps_replayed for unit in units),
        agents=sum(unit.agents for unit in units),
        recorded_code=recorded_code,
        replayed_code=replayed_code,
    )


def first_of_each(units: Iterable[UnitResult]) -> tuple[Divergence, ...]:
    """The first divergence of each stream, in causal order: a cause's clock is always below its effect's."""
    first: dict[tuple[str, int], Divergence] = {}
    for unit in units:
        for found in unit.divergences:
            key = (found.agent_id, found.incarnation)
            if key not in first or found.step < first[key].step:
                first[key] = found
    return tuple(sorted(first.values(), key=lambda found: found.hlc))


def _not_reached(units: Sequence[UnitResult], divergences: tuple[Divergence, ...]) -> Iterator[str]:
    if divergences:
        return
    for unit in units:
        if unit.driven and unit.steps_replayed < unit.steps_recorded and not unit.missing:
            yield f"Only {unit.steps_replayed} of {unit.steps_recorded} recorded steps of a unit were replayed."


def _status(
    divergences: tuple[Divergence, ...], gaps: tuple[str, ...], levels: tuple[Level, Level, Level]
) -> VerdictStatus:
    if divergences:
        return VerdictStatus.DIVERGED
    whole = not gaps and all(level == "reproduced" for level in levels)
    return VerdictStatus.REPRODUCED if whole else VerdictStatus.LIMITED


def _unseen(reads: tuple[UnrecordedInput, ...]) -> Divergence | None:
    """A read past the boundary that changed nothing one can see; the next run may be less lucky."""
    if not reads:
        return None
    read = reads[0]
    return Divergence(
        kind=DivergenceKind.UNRECORDED_INPUT,
        agent_id=read.agent_id,
        incarnation=1,
        step=read.after_step + 1,
        event_id=None,
        hlc=0,
        recorded=None,
        replayed=None,
        unrecorded=read,
        sentence=f"{read_sentence(read)}; every step was still as recorded, but another replay may differ.",
    )


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))
