"""Replays a unit until its recorded order is found: what the recording leaves open is tried the other way round.

A replay reproduces a recording if one order of the happenings that it leaves open does. Where the first attempt
diverges, alternatives are tried, those nearest before the divergence first; an attempt that gets further is built upon,
and at last one that got as far by taking a sequence in another order, for that sequence alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from tachograph.core.replay import Divergence
from tachograph.replay_workers._alternatives import Alternative, Otherwise
from tachograph.replay_workers._unit import Attempt

ATTEMPTS_MAX = 100
ATTEMPTS_MIN = 4
STEPS_MAX = 300_000
"""Attempts at large units are fewer. The limit is work, not time: a verdict must not depend on the machine's load."""

_SPUN_MAX = 2
"""Each attempt that is stopped for going on and on without a step takes as long as that takes."""

_NEAR_MS = 20
"""What ended so much later in the recording may have been under way at the divergence."""

Try = Callable[[Otherwise], Attempt]


def reproduced(attempt: Try) -> Attempt:
    """The attempt that reproduces the recording, else the first one that got as far as any."""
    best = attempt(Otherwise())
    tried = {best.otherwise.key}
    bases: list[_Base] = [(best, None)]
    spun = int(best.spun)
    for _ in range(_attempts(best)):
        following = _following(bases, tried)
        if following is None or _reach(best) is None or spun == _SPUN_MAX:
            break
        otherwise, sequence = following
        tried.add(otherwise.key)
        found = attempt(otherwise)
        spun += found.spun
        if _further(found, best):
            best = found
            bases = [(found, None)]
        elif sequence is not None and _value(found) == _value(best):
            bases.append((found, sequence))
    return best


_Base = tuple[Attempt, int | None]
"""An attempt to build upon; and the only sequence to take in yet another order, where it got no further than the best."""


def _following(bases: list[_Base], tried: Container[object]) -> tuple[Otherwise, int | None] | None:
    """What to try next, and the sequence that it takes in another order, if it does."""
    for base, sequence in bases:
        for one in _open(base):
            ordered = one.key if one.what == "order" else None
            changed = base.otherwise.with_(one)
            if (sequence is None or ordered == sequence) and changed.key not in tried:
                return changed, ordered
    return None


def _value(attempt: Attempt) -> tuple[int | None, int]:
    return _reach(attempt), attempt.matched


def _attempts(first: Attempt) -> int:
    return max(ATTEMPTS_MIN, min(ATTEMPTS_MAX, STEPS_MAX // max(1, first.result.steps_recorded)))


def _open(best: Attempt) -> list[Alternative]:
    """What may have been otherwise: the places where the replay went astray, then the nearest before the divergence.

    Where in a turn a thread's result came is tried last: there are many such places, and it hardly ever matters.
    """
    clock = max((_clock(found) for found in best.result.divergences if _at(found) == _reach(best)), default=0)
    limit = clock + (_NEAR_MS << 16)

    def distance(one: Alternative) -> tuple[bool, bool, bool, bool, int]:
        return one.hlc > limit, one.what == "behind", not one.urgent, one.hlc > clock, abs(one.hlc - clock)

    return sorted((one for one in best.alternatives if one.urgent or one.hlc <= limit), key=distance)


def _clock(found: Divergence) -> int:
    return max(found.hlc, found.recorded.hlc if found.recorded is not None else 0)


def _at(found: Divergence) -> int:
    """The clock up to which all was well: an extra step's own is that of whatever agent had got furthest by then."""
    return min(found.hlc, found.recorded.hlc if found.recorded is not None else found.hlc)


def _reach(attempt: Attempt) -> int | None:
    """How far it got: the clock of its first divergence; None: to the end."""
    return min(map(_at, attempt.result.divergences), default=None)


def _further(one: Attempt, other: Attempt) -> bool:
    """Whether an attempt got further than another: the other's first divergence is not in it, or more of the rest fits."""
    reach, known = _reach(one), _reach(other)
    if reach is None:
        return one.ended is not None and one.result.steps_replayed == one.result.steps_recorded
    if known is None:
        return False
    places, before = set(map(_place, one.result.divergences)), set(map(_place, other.result.divergences))
    if places > before:
        return False  # everything that went wrong does so still, and more
    if _place(min(other.result.divergences, key=_at)) in places:
        reach = min(reach, known)  # what went wrong before it only made it seem later
    return (reach, one.matched) > (known, other.matched)


def _place(found: Divergence) -> tuple[str, int, int]:
    return found.agent_id, found.incarnation, found.step
