"""A replay tells the fleet what it proved, and is not stopped by a cluster that cannot be told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cli import tacho
from cli_fleet import record
from insights_support import backend_with_topics, read_all
from tachograph.core.findings import ReplayFinding, finding_of


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one run."""
    found = tmp_path_factory.mktemp("announce") / "home"
    asyncio.run(record(str(found), "anna"))
    return found


def test_a_replay_is_told(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record has the run as key, and the verdict."""
    backend = backend_with_topics(tmp_path)
    assert backend.kafka is not None
    monkeypatch.setenv("TACHO_KAFKA_BOOTSTRAP", backend.kafka.bootstrap)
    monkeypatch.setenv("TACHO_TOPIC_PREFIX", backend.kafka.topic_prefix)
    done = tacho("--home", home, "replay", "latest", "--json")
    assert "not told" not in done.err
    (record_,) = read_all(backend, "replays")
    finding = finding_of(record_.value or b"")
    (run,) = done.result["runs"]
    assert isinstance(finding, ReplayFinding)
    assert record_.key == run["run_id"].encode()
    assert finding.result == run["verdict"]["status"].upper()


def test_a_cluster_that_does_not_answer_stops_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict and its exit code are the same; one line says that nobody was told."""
    alone = tacho("--home", home, "replay", "latest", "--json")
    monkeypatch.setenv("TACHO_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    done = tacho("--home", home, "replay", "latest", "--json")
    assert "the fleet was not told" in done.err
    assert done.code == alone.code
    assert done.result["summary"] == alone.result["summary"]
