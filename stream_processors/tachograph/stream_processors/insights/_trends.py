"""Signatures and replays in windows of an hour; the same findings give the same counts, however often they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from tachograph.core.findings import Finding, ReplayFinding, ReplayState, RunFinding
from tachograph.stream_processors.insights._step import tenant_of

HOUR_US: Final = 3_600_000_000

DAY_HOURS: Final = 24

HOURS_MAX: Final = 24 * 7
"""How far back windows go: a week, so that a day can be held against the same one before."""

_OVER: Final = frozenset({ReplayState.COMPLETED, ReplayState.FAILED, ReplayState.CANCELED})


@dataclass(frozen=True, slots=True)
class SignatureTrend:
    """How many runs showed a signature, by the hour in which they began."""

    tenant: str
    name: str
    runs: int
    first_us: int
    last_us: int
    hours: tuple[tuple[int, int], ...]
    """(start of the hour in microseconds since 1970, runs), oldest first; hours without a run are left out."""


@dataclass(frozen=True, slots=True)
class ReplayWindow:
    """What became of the replays of an hour."""

    tenant: str
    hour_us: int
    results: Mapping[str, int]
    """REPRODUCED, DIVERGED, LIMITED, FAILED, CANCELED to how many."""
    seconds_max: float

    @property
    def pass_rate(self) -> float | None:
        """Reproduced of those that proved something; None where none did."""
        return _rate(self.results)


@dataclass(frozen=True, slots=True)
class Day:
    """What the last DAY_HOURS hours of log time brought, over all tenants."""

    signatures: Mapping[str, int]
    """Name to runs that show it."""
    replays: Mapping[str, int]
    """REPRODUCED, DIVERGED, LIMITED, FAILED, CANCELED to how many."""

    @property
    def pass_rate(self) -> float | None:
        """Reproduced of those that proved something; None where none did."""
        return _rate(self.replays)


class _Kept(Protocol):
    @property
    def hour_us(self) -> int: ...


K = TypeVar("K", bound=_Kept)


@dataclass(frozen=True, slots=True)
class _Run:
    version: str
    hour_us: int
    started_us: int
    signatures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Replay:
    version: str
    hour_us: int
    result: str
    seconds: float


class _Recent(Generic[K]):
    """What lies within the windows, by tenant and id; older ones go as newer ones come."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], K] = {}
        self._newest = 0

    def put(self, place: tuple[str, str], item: K) -> None:
        self.items[place] = item
        if item.hour_us > self._newest:
            self._newest = item.hour_us
            oldest = item.hour_us - HOURS_MAX * HOUR_US
            for old in [place for place, kept in self.items.items() if kept.hour_us < oldest]:
                del self.items[old]

    def latest(self, hours: int) -> list[K]:
        """What began within so many hours up to the newest."""
        return [kept for kept in self.items.values() if kept.hour_us > self._newest - hours * HOUR_US]


class Trends:
    """Counts within the last HOURS_MAX hours of log time. Memory: one entry for each run and replay within."""

    def __init__(self) -> None:
        self._runs: _Recent[_Run] = _Recent()
        self._replays: _Recent[_Replay] = _Recent()

    def add(self, finding: Finding) -> None:
        """Take note of a finding."""
        if isinstance(finding, RunFinding):
            self._add_run(finding)
        elif isinstance(finding, ReplayFinding) and finding.state in _OVER:
            self._add_replay(finding)

    def signatures(self) -> tuple[SignatureTrend, ...]:
        """Every signature within the windows, by tenant and name."""
        began: dict[tuple[str, str], list[int]] = {}
        for (tenant, _), run in self._runs.items.items():
            for name in run.signatures:
                began.setdefault((tenant, name), []).append(run.started_us)
        return tuple(_trend(*place, sorted(times)) for place, times in sorted(began.items()))

    def replays(self) -> tuple[ReplayWindow, ...]:
        """Every hour with replays, by tenant, oldest first."""
        windows: dict[tuple[str, int], list[_Replay]] = {}
        for (tenant, _), replay in self._replays.items.items():
            windows.setdefault((tenant, replay.hour_us), []).append(replay)
        return tuple(
            ReplayWindow(*place, Counter(one.result for one in found), max(one.seconds for one in found))
            for place, found in sorted(windows.items())
        )

    def day(self) -> Day:
        """The last DAY_HOURS hours up to the newest."""
        runs, replays = self._runs.latest(DAY_HOURS), self._replays.latest(DAY_HOURS)
        return Day(Counter(name for run in runs for name in run.signatures), Counter(one.result for one in replays))

    def _add_run(self, finding: RunFinding) -> None:
        row = finding.row
        place = (row.tenant, row.run_id)
        known = self._runs.items.get(place)
        if known is None or finding.version > known.version:
            hour = row.started_at_us // HOUR_US * HOUR_US
            self._runs.put(place, _Run(finding.version, hour, row.started_at_us, row.signatures))

    def _add_replay(self, finding: ReplayFinding) -> None:
        place = (tenant_of(finding), finding.job_id)
        known = self._replays.items.get(place)
        if known is None or finding.version > known.version:
            hour = finding.at_us // HOUR_US * HOUR_US
            result = finding.result or finding.state.value
            self._replays.put(place, _Replay(finding.version, hour, result, finding.seconds or 0.0))


def _rate(results: Mapping[str, int]) -> float | None:
    proved = results.get("REPRODUCED", 0) + results.get("DIVERGED", 0)
    return results.get("REPRODUCED", 0) / proved if proved else None


def _trend(tenant: str, name: str, began: list[int]) -> SignatureTrend:
    hours = Counter(moment // HOUR_US * HOUR_US for moment in began)
    return SignatureTrend(tenant, name, len(began), began[0], began[-1], tuple(sorted(hours.items())))
