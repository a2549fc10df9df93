"""Records a golden run for replays with the current release; refuses to overwrite one.

Run: `PYTHONPATH=tests python tests/golden/make_replay.py tests/golden/replays/N`, once per release that changes what is
recorded.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

from tachograph.core.testing import SeededSources
from tachograph.producers import Recorder

KEY = b"the digest key of a golden home."
NAMES = ["tea", "coffee", "milk"]


def make(directory: Path) -> None:
    """A home with one run of the golden desk."""
    if directory.exists():
        raise SystemExit(f"{directory} is there already: golden files are never written again")
    (directory / "keys").mkdir(parents=True)
    (directory / "keys" / "digest.key").write_bytes(KEY)
    sys.path.insert(0, str(directory.parent))
    asyncio.run(_record(directory))
    for path in directory.glob("catalogue.db*"):
        path.unlink()
    for path in directory.rglob("lock"):
        path.unlink()
    shutil.rmtree(directory / "mail", ignore_errors=True)


async def _record(directory: Path) -> None:
    with Recorder(directory, sources=SeededSources(1)) as recorder:
        # Named before its module is imported, so that no path of this machine is recorded.
        inputs = {"os": "any", "python": "CPython 3.11"}
        opening = recorder.run(
            "golden", entrypoint="golden_desk:desk", args=(NAMES,), kwargs={"limit": 2}, inputs=inputs
        )
        from golden_desk import desk

        async with opening as run:
            await desk(run, NAMES, limit=2)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
