"""What must hold of a home after the process that recorded into it died or failed."""

from __future__ import annotations

from pathlib import Path

from chains import small_fleet
from faults.spool_process import batches
from tachograph.core.errors import UnknownRun
from tachograph.schemas import CallStarted, decode
from tachograph.stores import FindingKind, Home, RunStatus, rebuild, verify_home


def _read(home: Home) -> list[bytes]:
    try:
        return [stored.payload for stored in home.log.read_run("run-1")]
    except UnknownRun:
        return []


def check_after_crash(path: Path, said: tuple[str, ...]) -> None:
    """Everything that must hold after a crash."""
    acknowledged = sum(line.isdigit() for line in said)
    home = Home.open(path, create=True)
    recorded = _read(home)
    every = [payload for batch in batches(home) for payload in batch]
    durable = sum(map(len, batches(home)[:acknowledged]))
    assert recorded == every[: len(recorded)], "the log is a prefix of what was recorded"
    assert len(recorded) >= durable, "nothing acknowledged is lost"
    report = verify_home(home)
    assert not report.damaged, report.findings
    assert {finding.kind for finding in report.findings} <= {FindingKind.TORN, FindingKind.TRUNCATED}
    for payload in recorded:
        event = decode(payload)
        if isinstance(event, CallStarted):
            home.body(event.arguments, "event")
    _check_catalogue(home, recorded, len(every))
    _go_on(home)


def _check_catalogue(home: Home, recorded: list[bytes], events: int) -> None:
    if recorded:
        status = home.catalogue.run("run-1").status
        assert status is (RunStatus.FINISHED if len(recorded) == events else RunStatus.TRUNCATED)
    assert rebuild(home, check=True).differences == ()


def _go_on(home: Home) -> None:
    """The next process records into the same home."""
    assert home.claim_incarnation("run-1", "run") in (1, 2)
    with home.new_spool() as writer:
        writer.append(small_fleet("run-2", digester=home.digester))
    assert [stored.payload for stored in home.log.read_run("run-2")]
    assert not verify_home(home).damaged
