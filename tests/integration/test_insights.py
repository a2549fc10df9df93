"""Findings reach the catalogue and the topics through Faust, poison reaches quarantine, and no port is opened."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from insights_support import (
    backend_with_topics,
    catalogue_of,
    expected_content,
    read_all,
    running,
    send,
    some_findings,
)
from services import fresh_backend
from tachograph.core.errors import StoreUnavailable
from tachograph.core.findings import EffectFinding, ReplayFinding, ReplayState, finding_bytes, finding_of, newer
from tachograph.stores.backend import RedisSettings, Secret
from tachograph.stores.kafka import TopicMissing
from tachograph.stream_processors.insights import run_insights


def test_findings_become_the_catalogue(tmp_path: Path) -> None:
    """The catalogue is what applying every finding gives; effects and signatures are published."""
    backend = backend_with_topics(tmp_path)
    findings = some_findings(tmp_path, seed=1)
    send(backend, "findings", [(finding.run_id, finding_bytes(finding)) for finding in findings])
    wanted = expected_content(backend, findings)
    with running(backend) as insights, catalogue_of(backend) as catalogue:
        insights.until(lambda: catalogue.content() == wanted)
        shown = {row.name: row.runs for row in catalogue.signatures()}
    effects = {finding.key: finding for finding in findings if isinstance(finding, EffectFinding)}
    for finding in findings:
        if isinstance(finding, EffectFinding) and newer(finding, effects[finding.key]):
            effects[finding.key] = finding
    told: dict[str, EffectFinding] = {}
    for record in read_all(backend, "effects"):
        finding = finding_of(record.value or b"")
        assert isinstance(finding, EffectFinding)
        assert record.key == finding.row.effect_id.encode()
        told[finding.key] = (
            finding if finding.key not in told or newer(finding, told[finding.key]) else told[finding.key]
        )
    assert told == effects
    trends = [json.loads(record.value or b"")["trend"] for record in read_all(backend, "signatures")]
    assert {trend["name"]: trend["runs"] for trend in trends} == shown


def test_poison_goes_to_quarantine_and_hides_nothing(tmp_path: Path) -> None:
    """With the reason and where it came from; the findings around it are applied."""
    backend = backend_with_topics(tmp_path)
    findings = some_findings(tmp_path, seed=2, steps=60)
    garbage = [b"", b"{", b'{"format": 99, "kind": "run", "finding": {}}', b"\xff" * 2000]
    values = [(finding.run_id, finding_bytes(finding)) for finding in findings]
    for number, value in enumerate(garbage):
        values.insert(number * 7, ("poison", value))
    send(backend, "findings", values)
    wanted = expected_content(backend, findings)
    with running(backend) as insights, catalogue_of(backend) as catalogue:
        insights.until(lambda: catalogue.content() == wanted)
        quarantined = read_all(backend, "quarantine")
    assert sorted(record.value or b"" for record in quarantined) == sorted(garbage)
    for record in quarantined:
        headers = dict(record.headers)
        assert headers["tacho-reason"]
        assert b".findings/" in headers["tacho-source"]


def test_what_was_acknowledged_is_not_read_again(tmp_path: Path) -> None:
    """A second process goes on where the first one stopped, and fills nothing twice."""
    backend = backend_with_topics(tmp_path)
    findings = some_findings(tmp_path, seed=3, steps=100)
    half = len(findings) // 2
    for part in (findings[:half], findings[half:]):
        send(backend, "findings", [(finding.run_id, finding_bytes(finding)) for finding in part])
        wanted = expected_content(backend, findings if part[-1:] == findings[-1:] else part)
        with running(backend) as insights, catalogue_of(backend) as catalogue:
            insights.until(lambda wanted=wanted: catalogue.content() == wanted)  # type: ignore[misc]
    effects = [finding for finding in findings if isinstance(finding, EffectFinding)]
    assert len(read_all(backend, "effects")) <= len(effects)


def test_replays_are_heard_of(tmp_path: Path) -> None:
    """Where a replay job stands is kept beside its run."""
    backend = backend_with_topics(tmp_path)
    job = ReplayFinding(
        "job-1",
        "default",
        "run-1",
        "EXACT",
        ReplayState.COMPLETED,
        "REPRODUCED",
        None,
        None,
        1_800_000_000_000_000,
        1.5,
    )
    send(backend, "replays", [("run-1", finding_bytes(job))])
    wanted = expected_content(backend, [job])
    with running(backend) as insights, catalogue_of(backend) as catalogue:
        insights.until(lambda: catalogue.content() == wanted)


def test_no_port_is_opened_and_no_directory_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faust's own web server would listen on all interfaces; its tables would lie where the process was started."""
    backend = backend_with_topics(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before = listening()
    findings = some_findings(tmp_path, seed=5, steps=30)
    send(backend, "findings", [(finding.run_id, finding_bytes(finding)) for finding in findings])
    wanted = expected_content(backend, findings)
    with running(backend) as insights, catalogue_of(backend) as catalogue:
        insights.until(lambda: catalogue.content() == wanted)
        assert listening() == before
    assert not list((tmp_path / "here").iterdir())


def listening() -> set[str]:
    """Inodes of this process's listening TCP sockets."""
    listen = "0A"
    rows = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]
    ]
    open_here: set[str] = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing's own
            open_here.add(str(descriptor.readlink()))
    return {row[9] for row in rows if row[3] == listen and f"socket:[{row[9]}]" in open_here}


def test_topics_that_are_missing_are_named_at_once(tmp_path: Path) -> None:
    """With the command that makes them: Faust would wait for them without a word."""
    backend = fresh_backend(tmp_path, "kafka", "redis")
    with pytest.raises(TopicMissing, match="tacho topics ensure"):
        run_insights(backend, threading.Event())


def test_a_redis_that_is_away_is_named_while_it_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And what it lacks is applied once it can be: nothing is acknowledged before."""
    backend = backend_with_topics(tmp_path)
    away = replace(backend, redis=RedisSettings(Secret("redis://127.0.0.1:1/0")))
    findings = some_findings(tmp_path, seed=3, steps=20)
    send(backend, "findings", [(finding.run_id, finding_bytes(finding)) for finding in findings])
    with suppress(StoreUnavailable), running(away) as insights:
        insights.until(lambda: "127.0.0.1:1" in caplog.text)
    wanted = expected_content(backend, findings)
    with running(backend) as insights, catalogue_of(backend) as catalogue:
        insights.until(lambda: catalogue.content() == wanted)
