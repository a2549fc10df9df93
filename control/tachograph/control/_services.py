"""Finding the services of other floors by name."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import cast

from tachograph.control._errors import ServiceUnavailable
from tachograph.core.ports import (
    SERVICES,
    DemoService,
    ForkService,
    ImportService,
    ProcessService,
    ReconcileService,
    ReplayService,
    ReportService,
    ShipService,
    TopicsService,
)

NAMES = (
    "demo",
    "fork",
    "import.airline",
    "import.who-and-when",
    "process",
    "reconcile",
    "replay",
    "report",
    "ship",
    "topics",
)
"""Every service that a command uses."""


def load(name: str) -> object:
    """The service under a name.

    Raises:
        ServiceUnavailable: no installed package offers it, or its module does not load.
    """
    found = list(entry_points(group=SERVICES, name=name))
    if not found:
        raise ServiceUnavailable(name, f"no installed package offers it under {SERVICES!r}")
    try:
        return cast("object", found[0].load())
    except (ImportError, AttributeError) as error:
        raise ServiceUnavailable(name, f"{found[0].value!r} does not load: {error}") from error


def replay_service() -> ReplayService:
    """Re-drives recorded runs."""
    return cast("ReplayService", load("replay"))


def fork_service() -> ForkService:
    """Forks a recorded run."""
    return cast("ForkService", load("fork"))


def report_service() -> ReportService:
    """Writes reports."""
    return cast("ReportService", load("report"))


def import_service(source: str) -> ImportService:
    """Brings runs from a source: `airline` or `who-and-when`."""
    return cast("ImportService", load(f"import.{source}"))


def demo_service() -> DemoService:
    """Records the demo fleet."""
    return cast("DemoService", load("demo"))


def reconcile_service() -> ReconcileService:
    """Decides an UNKNOWN effect."""
    return cast("ReconcileService", load("reconcile"))


def process_service() -> ProcessService:
    """Runs stream processors."""
    return cast("ProcessService", load("process"))


def ship_service() -> ShipService:
    """Ships what dead processes left."""
    return cast("ShipService", load("ship"))


def topics_service() -> TopicsService:
    """Makes and compares topics."""
    return cast("TopicsService", load("topics"))
