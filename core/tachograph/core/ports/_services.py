"""What the upper floors offer each other, by name under the entry-point group `tachograph.services`.

| name | signature | floor |
|---|---|---|
| `replay` | `ReplayService` | replay_workers |
| `fork` | `ForkService` | replay_workers |
| `report` | `ReportService` | replay_workers |
| `import.airline`, `import.who-and-when` | `ImportService` | producers |
| `demo` | `DemoService` | producers |
| `reconcile` | `ReconcileService` | producers |
| `ship` | `ShipService` | producers |
| `topics` | `TopicsService` | stores |
| `process` | `ProcessService` | stream_processors |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Literal, Protocol

from tachograph.core.replay import Verdict

SERVICES = "tachograph.services"
"""The entry-point group."""

Progress = Callable[[int, int, str], None]
"""Called with (done, total, what) during long work."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How to replay."""

    code: str | None = None
    """Directory of the control logic; by default the one that was recorded."""
    steps_max: int = 1_000_000
    """An agent that takes more steps than this is stopped."""
    seconds_max: float = 600.0
    """Wall time for one unit."""
    cpu_seconds_max: float = 30.0
    """Processor time that control logic may take without a step."""
    raw: bool = False
    """Give control logic what redaction took out, where the run was recorded so and its key is here."""
    raw_keys: str | None = None
    """Directory of the tenants' keys; None: that of the home."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A replayed run."""

    run_id: str
    run_name: str
    verdict: Verdict
    seconds: float
    error: str | None = None
    """Why there is no proof at all, where there is none (the verdict is LIMITED then)."""


class ReplayService(Protocol):
    """Re-drive recorded runs."""

    def __call__(
        self, home: Path, run_ids: Sequence[str], options: ReplayOptions, jobs: int, progress: Progress
    ) -> Sequence[ReplayResult]:
        """Replay runs exactly, over `jobs` processes; results in the order of `run_ids`."""
        ...


@dataclass(frozen=True, slots=True)
class Override:
    """One thing that a what-if changes."""

    what: Literal["result", "message", "approval"]
    event_id: str
    """The CallStarted, or the MessageReceived, whose content is replaced."""
    value: object


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """How to fork."""

    from_event: str | None = None
    """The step's event from which on the fork may differ; None: from the start."""
    overrides: tuple[Override, ...] = ()
    code: str | None = None
    entrypoints: Mapping[str, str] = field(default_factory=dict[str, str])
    """Recorded entry point to the one that is driven in its place."""
    miss: Literal["fail", "stub"] = "fail"
    """What a call gets that the recording cannot answer."""
    steps_max: int = 1_000_000
    seconds_max: float = 600.0
    cpu_seconds_max: float = 30.0


@dataclass(frozen=True, slots=True)
class ForkResult:
    """A fork: a new run, and how it differs from its parent."""

    run_id: str
    parent_run_id: str
    verdict: Verdict
    ended: str
    """How the forked control logic ended: `OK`, or the error it stopped in."""
    seconds: float


class ForkService(Protocol):
    """Fork a recorded run."""

    def __call__(self, home: Path, run_id: str, options: ForkOptions) -> ForkResult: ...


class ReportService(Protocol):
    """Write a report of a replay."""

    def __call__(self, home: Path, result: ReplayResult | ForkResult, directory: Path) -> Mapping[str, Path]:
        """Write `report.html`, `report.json` and `report.txt`; returns format to path."""
        ...


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Imported runs."""

    run_ids: tuple[str, ...]
    fidelity: Mapping[str, int]
    """Grade to number of runs."""
    skipped: tuple[str, ...]
    """Sentences: what could not be imported, and why."""


class ImportService(Protocol):
    """Bring runs from elsewhere."""

    def __call__(self, home: Path, files: Sequence[Path], progress: Progress, *, again: bool = False) -> ImportResult:
        """Record the runs of files; what this home has already is skipped and named, unless `again`."""
        ...


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The recorded demo incident."""

    run_id: str
    mails_received: int
    """How many mails the customer got."""
    fixed_entrypoints: Mapping[str, str]
    """For `ForkOptions.entrypoints`: the mended control logic."""


class DemoService(Protocol):
    """Record the demo fleet."""

    def __call__(self, home: Path, seed: int, progress: Progress) -> DemoResult: ...


class ReconcileService(Protocol):
    """Decide an UNKNOWN effect."""

    def __call__(self, home: Path, effect_id: str, happened: bool, reason: str, by: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """How to run stream processors."""

    names: tuple[str, ...]
    """`archive`, `fold`, `insights`: those that run in this process, each in a thread."""
    directory: Path
    """For what they keep on disk; it can be lost."""
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    """Where the first answers `/healthz` and `/metrics`, the others on the ports behind it; 0: any; None: nowhere."""


class ProcessService(Protocol):
    """Run stream processors on the servers that the environment names."""

    def __call__(self, options: ProcessOptions, stop: Event) -> None:
        """Return once `stop` is set and what was read is stored; raise what one of them failed by."""
        ...
