"""Catalogue and archive do not hold the same runs: who asks is told which of them has what, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from archived import archive
from chains import Clock, small_fleet
from cli import tacho
from services import fresh_backend
from tachograph.control._errors import NotArchivedYet
from tachograph.control._homes import load_run, resolve_run
from tachograph.core.errors import CorruptFrame, UnknownRun
from tachograph.stores import Home, rebuild
from tachograph.stores.backend import Backend
from tachograph.stores.s3 import Bucket


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    """Three runs in the archive, none in the catalogue."""
    backend = fresh_backend(tmp_path, "s3", "redis")
    assert backend.s3 is not None
    clock = Clock()
    events = [payload for number in range(3) for payload in small_fleet(f"run-{number}", clock=clock)]
    archive(Bucket(backend.s3), events, tenant="default")
    return backend


def _lose_segments(backend: Backend) -> None:
    assert backend.s3 is not None
    bucket = Bucket(backend.s3)
    for found in list(bucket.names("default/segments/")):
        bucket.remove(found)


@pytest.mark.parametrize(("text", "run_id"), [("latest", "run-2"), ("run-1", "run-1"), ("0", "run-0")])
def test_events_on_their_way_are_said_to_be(tmp_path: Path, backend: Backend, text: str, run_id: str) -> None:
    """The catalogue hears of a run sooner than its events are stored."""
    rebuild(Home.open(tmp_path / "near", create=True, backend=backend), check=False)
    _lose_segments(backend)
    late = Home.open(tmp_path / "late", create=True, backend=backend)
    with pytest.raises(NotArchivedYet, match=f"{run_id}.*try again") as caught:
        resolve_run(late, text)
    assert caught.value.exit_code == 2
    with pytest.raises(UnknownRun):
        resolve_run(late, "run-9")


def test_a_lost_segment_is_no_unknown_run(tmp_path: Path, backend: Backend) -> None:
    """A home that has seen its index says that it is gone."""
    home = Home.open(tmp_path / "home", create=True, backend=backend)
    assert load_run(home, "run-1").events
    _lose_segments(backend)
    with pytest.raises(CorruptFrame, match="no longer there"):
        load_run(home, "run-1")


def test_an_empty_catalogue_is_not_taken_for_no_runs(
    tmp_path: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a flush `tacho runs` names the way back."""
    assert backend.s3 is not None
    assert backend.redis is not None
    named = {
        "TACHO_S3_URL": backend.s3.url,
        "TACHO_S3_BUCKET": backend.s3.bucket,
        "TACHO_S3_ACCESS_KEY": backend.s3.access_key,
        "TACHO_S3_SECRET_KEY": backend.s3.secret_key.text,
        "TACHO_REDIS_URL": backend.redis.url.text,
        "TACHO_DIGEST_KEY_FILE": str(backend.digest_key_file),
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    assert "the archive has 3 runs: `tacho rebuild`" in tacho("--home", tmp_path / "home", "runs").out
    assert tacho("--home", tmp_path / "home", "rebuild").code == 0
    assert "run-2" in tacho("--home", tmp_path / "home", "runs").out
