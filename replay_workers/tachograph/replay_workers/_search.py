"""Replays a unit until its recorded order is found: what the recording leaves open is tried the other way round.

A replay reproduces a recording if one order of the happenings that it leaves open does. Where the first attempt
diverges, alternatives are tried, those nearest before the divergence first; an attempt that gets further is built upon.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tachograph.replay_workers._schedule import Alternative, Otherwise
from tachograph.replay_workers._unit import Attempt

ATTEMPTS_MAX = 40
_SECONDS_MIN = 2.0
_FACTOR = 10
"""Searching takes at most so many times as long as the first attempt."""

_MARGIN_SECONDS_MAX = 0.05

Try = Callable[[Otherwise], Attempt]


def reproduced(attempt: Try) -> Attempt:
    """The attempt that reproduces the recording, else the first one that got as far as any."""
    began = time.monotonic()
    best = attempt(Otherwise())
    limit = max(_SECONDS_MIN, _FACTOR * (time.monotonic() - began))
    tried = {_key(best.otherwise)}
    for _ in range(ATTEMPTS_MAX):
        following = next(
            (changed for one in _open(best) if _key(changed := best.otherwise.with_(one)) not in tried), None
        )
        if following is None or _reach(best) is None or time.monotonic() - began > limit:
            break
        tried.add(_key(following))
        found = attempt(following)
        if _further(found, best):
            best = found
    return best


def _open(best: Attempt) -> list[Alternative]:
    """What may have been otherwise before the divergence, the likeliest first."""
    near = [one for one in best.alternatives if one.margin <= _MARGIN_SECONDS_MAX]
    return sorted(near, key=lambda one: (-one.after, one.margin))


def _reach(attempt: Attempt) -> int | None:
    """How far it got: the clock of its first divergence; None: to the end."""
    return min((found.hlc for found in attempt.result.divergences), default=None)


def _further(one: Attempt, other: Attempt) -> bool:
    reach, known = _reach(one), _reach(other)
    if reach is None:
        return one.ended is not None and not one.result.missing
    return known is not None and reach > known


def _key(otherwise: Otherwise) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    return tuple(sorted(otherwise.choices.items())), tuple(sorted(otherwise.early.items()))
