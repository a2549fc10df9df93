"""Where the steps of a run's streams lie."""

from __future__ import annotations

from collections.abc import Iterable

from tachograph.core.replay._drafts import drafts_of
from tachograph.schemas import Event


def step_positions(events: Iterable[Event]) -> dict[tuple[str, int], tuple[int, ...]]:
    """The `seq` at which each step of a stream begins, by (agent_id, incarnation); step 1 first.

    Args:
        events: of one run; every stream's in order of `seq`.
    """
    return {key: tuple(seq for seq, *_ in draft.places()) for key, draft in drafts_of(events).items()}
