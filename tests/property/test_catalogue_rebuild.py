"""However the catalogue was brought up to date, it equals one that is made from the log at once."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import example, given, settings

from recorded_world import STEPS, World
from tachograph.stores import Home, rebuild

BEFORE = [("open", 0, 0), ("open", 0, 0), ("run", 0, 0), ("effect", 0, 0), ("close", 0, 0)]
"""A run with an effect, over, while another process lives."""


@settings(max_examples=60, deadline=None, print_blob=True)
@example(steps=[*BEFORE, ("ask", 0, 0), ("run", 0, 1), ("move", 0, 0)])
@example(steps=[*BEFORE, ("run", 0, 1), ("move", 0, 0)])
@given(STEPS)
def test_the_catalogue_equals_one_made_anew(steps: list[tuple[str, int, int]]) -> None:
    """Byte for byte, whatever happened and whenever it was asked."""
    with tempfile.TemporaryDirectory() as directory:
        world = World(Home.open(Path(directory) / "home", create=True))
        for step in steps:
            world.take(*step)
        world.home.catalogue.runs()
        report = rebuild(world.home, check=True)
        assert report.differences == ()
        for writer in world.writers:
            writer.abandon()
        assert rebuild(world.home, check=True).differences == ()
        world.home.catalogue.close()
