"""Keeps servers for as long as a test run lives: `service_keeper.py KIND DIRECTORY OWNER_PID`.

It writes `KIND.json` beside its directory once they are ready, or `KIND.error`. When the owner ends, however that
happens, it ends the servers; when it is killed itself, they die with it.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from service_plans import plan
from tachograph.control.dev._ports import Ports
from tachograph.control.dev._process import kill


def keep(kind: str, directory: Path, owner: int) -> None:
    """Start the servers, tell so, and end them with the owner."""
    owner_descriptor = os.pidfd_open(owner)
    place = directory / kind
    try:
        planned = plan(kind, place, Ports())
        for server in planned.servers:
            server.make_ready()
        processes = [server.start(tied=True) for server in planned.servers]
        for server, process in zip(planned.servers, processes, strict=True):
            server.wait(process)
    except BaseException:
        _tell(directory / f"{kind}.error", traceback.format_exc())
        raise
    _tell(directory / f"{kind}.json", json.dumps({"address": planned.address}))
    select.select([owner_descriptor], [], [])
    kill(processes)
    shutil.rmtree(directory, ignore_errors=True)
    session = directory.parent
    if not any(path.is_dir() for path in session.iterdir()):
        shutil.rmtree(session, ignore_errors=True)


def _tell(path: Path, text: str) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(text)
    temporary.rename(path)


if __name__ == "__main__":
    keep(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
