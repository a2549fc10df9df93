"""Liveness means progress: what the watchdog and the status page of the archive say."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request

import pytest

from tachograph.core.errors import InvalidSetting
from tachograph.stream_processors._health import StatusServer, Watchdog
from tachograph.stream_processors.archive._metrics import ArchiveMetrics


def test_a_process_without_progress_is_ended() -> None:
    """Whether nothing was done at all, or a partition does not move."""
    for seconds, stuck in ((0.05, []), (1000.0, ["tacho.events/3"])):
        ended = threading.Event()
        moving = {"stuck": stuck}
        watchdog = Watchdog(seconds, lambda _, moving=moving: moving["stuck"], ended.set)
        if stuck:
            assert watchdog.fault() == "tacho.events/3 did not move for 1000 s"
            continue
        watchdog.start()
        assert ended.wait(20)
        watchdog.stop()


def test_a_process_that_works_is_left_alone() -> None:
    """For as long as it says so."""
    ended = threading.Event()
    watchdog = Watchdog(1000, lambda _: [], ended.set)
    watchdog.start()
    assert watchdog.fault() is None
    watchdog.stop()
    assert not ended.is_set()


def test_the_status_page_says_why_it_is_not_alive() -> None:
    """For probes and for people; the metrics are there in any case."""
    reasons: list[str | None] = [None]
    server = StatusServer("127.0.0.1", 0, lambda: reasons[0], ArchiveMetrics().registry)
    server.start()
    try:
        assert _get(server, "/healthz") == (200, "ok\n")
        reasons[0] = "nothing was done for 301 s"
        assert _get(server, "/healthz") == (503, "nothing was done for 301 s\n")
        assert _get(server, "/other")[0] == 404
        status, text = _get(server, "/metrics")
        assert status == 200
        assert 'tacho_archive_records_total{verdict="FORKED"} 0.0' in text
        assert 'tacho_archive_quarantined_total{reason="tenant"} 0.0' in text
    finally:
        server.stop()


def _get(server: StatusServer, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_metrics_have_few_labels() -> None:
    """However many tenants and runs there are: none of them is a label."""
    names = {
        (sample.name, tuple(sample.labels))
        for metric in ArchiveMetrics().registry.collect()
        for sample in metric.samples
    }
    assert {label for _, labels in names for label in labels} == {"verdict", "reason"}


def test_an_address_where_nothing_can_listen_is_named() -> None:
    """A port that is taken, a host that is another machine's: with what to do."""
    first = StatusServer("127.0.0.1", 0, lambda: None, ArchiveMetrics().registry)
    first.start()
    try:
        for host, port in (("127.0.0.1", first.port), ("203.0.113.9", 29200)):
            with pytest.raises(InvalidSetting, match=rf"{host}:{port}.*give a free port"):
                StatusServer(host, port, lambda: None, ArchiveMetrics().registry)
    finally:
        first.stop()
