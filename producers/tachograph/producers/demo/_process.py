"""The second process of the fleet: joins the run and becomes `mailer` and `auditor`. Started with JSON as argument."""

from __future__ import annotations

import asyncio
import json
import sys

from tachograph.producers import DirectoryTransport, Recorder
from tachograph.producers.demo._back_office import auditor, mailer


async def back_office(task: dict[str, str]) -> None:
    """Join the run twice."""
    places = json.loads(task["places"])
    with Recorder(task["home"], transport=DirectoryTransport(task["mailboxes"])) as recorder:
        await asyncio.gather(
            recorder.join(task["context"], "mailer", mailer, places),
            recorder.join(task["context"], "auditor", auditor, places),
        )


if __name__ == "__main__":
    asyncio.run(back_office(json.loads(sys.argv[1])))
