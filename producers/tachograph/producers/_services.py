"""What this floor offers the others, by entry point."""

from __future__ import annotations

from pathlib import Path

from tachograph.producers._recorder import Recorder
from tachograph.stores import Home


def reconcile_service(home: Path, effect_id: str, happened: bool, reason: str, by: str) -> None:
    """Decide an UNKNOWN effect of a home (the `reconcile` service).

    Raises:
        CallerError: there is no such home or effect, or the effect is not UNKNOWN.
        SpoolUnwritable: the decision could not be recorded durably.
    """
    Home.open(home)  # a home that is not there is not made
    with Recorder(home) as recorder:
        recorder.reconcile(effect_id, happened, reason, by)
