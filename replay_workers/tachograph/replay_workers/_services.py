"""The services of this package; what they need is imported when one is asked for.

Every replaying process imports this package, too, and needs neither stores nor reports: what it does not import, it
need not wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tachograph.core.ports import ForkOptions, ForkResult, Progress, ReplayOptions, ReplayResult


def fork(home: Path, run_id: str, options: ForkOptions) -> ForkResult:
    """Fork a recorded run, as `_fork.fork`."""
    from tachograph.replay_workers._fork import fork as service

    return service(home, run_id, options)


def replay(
    home: Path, run_ids: Sequence[str], options: ReplayOptions, jobs: int, progress: Progress
) -> Sequence[ReplayResult]:
    """Replay runs exactly, as `_replay.replay`."""
    from tachograph.replay_workers._replay import replay as service

    return service(home, run_ids, options, jobs, progress)


def report(home: Path, result: ReplayResult | ForkResult, directory: Path) -> Mapping[str, Path]:
    """Write a report of a replay or a fork, as `_report.report`."""
    from tachograph.replay_workers._report import report as service

    return service(home, result, directory)
