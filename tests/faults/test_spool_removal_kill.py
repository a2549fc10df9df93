"""A process that is killed while it removes spools, at whatever step, leaves a whole home; the next one goes on."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

from removal import acknowledged, archived, check, in_child, looked_at, recorded, servers, spools, swept


def test_whoever_removes_spools_may_die_at_any_step(tmp_path: Path) -> None:
    """Before each change of a directory: the home tells and refuses the same, nothing is damaged, the rest goes next time."""
    backend, home = servers(tmp_path), tmp_path / "home"
    recorded(home)
    acknowledged(home)
    archived(home, backend)
    before = looked_at(home, backend)
    number = 1
    for number in count(1):
        struck = tmp_path / f"struck{number}"
        shutil.copytree(home, struck)
        died = in_child(lambda home=struck: swept(home, backend), number, struck / "log")  # type: ignore[misc]  # bound
        assert looked_at(struck, backend) == before, number
        check(struck, backend)
        if not died:
            break
        swept(struck, backend)
        assert spools(struck) == [], number
        assert not list((struck / "log").glob(".removed*")), number
        assert looked_at(struck, backend) == before, number
        shutil.rmtree(struck)
    assert number > 30
