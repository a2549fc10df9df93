"""The demo incident through real servers, read by a machine that recorded nothing."""

from __future__ import annotations

from pathlib import Path

from cli import tacho
from tachograph.control.dev import status


def test_the_incident_goes_through_the_servers(tmp_path: Path) -> None:
    """Each step is as told, and no server is left running."""
    home = tmp_path / "home"
    done = tacho("--home", home, "demo", "--servers", "--json")
    assert [step["evidence"] for step in done.result["steps"] if not step["holds"]] == []
    assert done.code == 0, done.err
    assert len(done.result["steps"]) > 5
    assert [server.name for server in status(home / "dev") if server.pid is not None] == []
