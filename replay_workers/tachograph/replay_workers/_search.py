"""Replays a unit until its recorded order is found: what the recording leaves open is tried the other way round.

A replay reproduces a recording if one order of the happenings that it leaves open does. Where the first attempt
diverges, alternatives are tried, those nearest before the divergence first; an attempt that gets further is built upon.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tachograph.replay_workers._alternatives import Alternative, Otherwise
from tachograph.replay_workers._unit import Attempt

ATTEMPTS_MAX = 100
_SECONDS_MIN = 2.0
_FACTOR = 3
"""Searching takes at most so many times as long as the first attempt."""

Try = Callable[[Otherwise], Attempt]


def reproduced(attempt: Try) -> Attempt:
    """The attempt that reproduces the recording, else the first one that got as far as any."""
    began = time.monotonic()
    best = attempt(Otherwise())
    limit = max(_SECONDS_MIN, _FACTOR * (time.monotonic() - began))
    tried = {best.otherwise.key}
    for _ in range(ATTEMPTS_MAX):
        following = next(
            (changed for one in _open(best) if (changed := best.otherwise.with_(one)).key not in tried), None
        )
        if following is None or _reach(best) is None or time.monotonic() - began > limit:
            break
        tried.add(following.key)
        found = attempt(following)
        if _further(found, best):
            best = found
    return best


def _open(best: Attempt) -> list[Alternative]:
    """What may have been otherwise before the divergence, the nearest first."""
    return sorted(best.alternatives, key=lambda one: (not one.urgent, -one.after))


def _reach(attempt: Attempt) -> int | None:
    """How far it got: the clock of its first divergence; None: to the end."""
    return min((found.hlc for found in attempt.result.divergences), default=None)


def _further(one: Attempt, other: Attempt) -> bool:
    reach, known = _reach(one), _reach(other)
    if reach is None:
        return one.ended is not None and one.result.steps_replayed == one.result.steps_recorded
    return known is not None and reach > known
