"""`tacho topics` and `tacho ship` on a real cluster: what they do, say, and end with; and what metrics show of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from cli import tacho
from services import fresh_backend
from shipping import check, kafka_of, ledger_of, record
from tachograph.producers.shipper import register_metrics
from tachograph.stores.backend import Backend
from tachograph.stores.shipping import STUCK_REASONS


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A cluster without topics, which the environment names."""
    found = fresh_backend(tmp_path, "kafka")
    monkeypatch.setenv("TACHO_KAFKA_BOOTSTRAP", kafka_of(found).bootstrap)
    monkeypatch.setenv("TACHO_TOPIC_PREFIX", kafka_of(found).topic_prefix)
    return found


def test_topics_are_made_compared_and_told(backend: Backend, tmp_path: Path) -> None:
    """`check` makes nothing; a plan that differs from what is there ends with 1, and changes nothing."""
    looked = tacho("topics", "check", "--json")
    assert (looked.code, len(looked.result["drift"]), looked.result["created"]) == (1, 7, [])
    made = tacho("topics", "ensure")
    assert (made.code, made.err) == (0, "")
    assert "7 topics made" in made.out
    config = tmp_path / "topics.toml"
    config.write_text("[events]\npartitions = 3\n")
    other = tacho("topics", "ensure", "--config", config)
    assert other.code == 1
    assert "partitions" in other.out
    assert tacho("topics", "check").code == 0
    assert tacho("topics", "ensure", "--config", tmp_path / "none.toml").code == 64
    assert backend.kafka is not None


def test_a_home_is_shipped_and_told(backend: Backend, tmp_path: Path) -> None:
    """Then nothing is left; what is no home, no cluster or no topic is named."""
    home = tmp_path / "home"
    record(home, 2, 5).close()
    missing = tacho("ship", home)
    assert missing.code == 64
    assert "tacho topics ensure" in missing.err
    tacho("topics", "ensure")
    shipped = tacho("ship", home, "--json")
    ledger = ledger_of(home)
    assert (shipped.code, shipped.result["events"], shipped.result["waiting_bytes"]) == (0, len(ledger), 0)
    check(home, backend, ledger)
    again = tacho("--home", home, "ship")
    assert (again.code, again.out) == (0, "Nothing is left to ship.\n")
    assert tacho("ship", tmp_path / "nowhere").code == 64


def test_without_a_cluster_commands_say_so(tmp_path: Path) -> None:
    """And which setting is missing."""
    record(tmp_path / "home", 1, 1).close()
    for command in (("topics", "ensure"), ("ship", str(tmp_path / "home"))):
        done = tacho(*command)
        assert done.code == 64
        assert "TACHO_KAFKA_BOOTSTRAP" in done.err


def test_metrics_show_what_was_shipped(backend: Backend, tmp_path: Path) -> None:
    """Each counter once, without a label; what is stuck by its few reasons."""
    tacho("topics", "ensure")
    recorder = record(tmp_path / "home", 1, 5, ship=backend)
    recorder.close()
    assert recorder.shipper is not None
    registry = CollectorRegistry()
    register_metrics(recorder.shipper, registry)
    shown = generate_latest(registry).decode()
    lines = dict(line.rsplit(" ", 1) for line in shown.splitlines() if not line.startswith("#"))
    assert float(lines["tacho_shipper_events_total"]) == len(ledger_of(tmp_path / "home"))
    assert float(lines["tacho_shipper_waiting_bytes"]) == 0
    assert [name for name in lines if "{" in name] == [
        f'tacho_shipper_stuck{{reason="{each}"}}' for each in STUCK_REASONS
    ]
    assert len(lines) == 6 + len(STUCK_REASONS)
