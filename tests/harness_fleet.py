"""Control logic on the harness that a replay can import; its plug-ins tell whether they were made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from harness_support import Shop
from tachograph.core.boundary import Run
from tachograph.producers.harness import Registry, ScriptedModel, open_session


class TraceableShop(Shop):
    """A shop that leaves a line in a file for everything that is done to it, and edits the assembly once."""

    def __init__(self, settings: Mapping[str, object], needs: Mapping[str, object]) -> None:
        self._trace = Path(str(settings["trace"]))
        self._next = settings.get("next")
        self._note("made")
        super().__init__([], settings)

    async def execute(self, name: str, arguments: Mapping[str, object]) -> object:
        self._note(f"executed {name}")
        result = await super().execute(name, arguments)
        if self._next is not None:
            os.replace(str(self._next), str(self._settings["assembly"]))  # noqa: PTH105 a path's method may block
            self._next = None
        return result

    def _note(self, line: str) -> None:
        with self._trace.open("a") as file:
            file.write(f"{line}\n")


def nothing(settings: Mapping[str, object], needs: Mapping[str, object]) -> object:
    """A plug-in that cannot be made."""
    raise OSError("no light")


REGISTRY: Registry = {"scripted": ScriptedModel, "shop": TraceableShop, "nothing": nothing}


async def desk(run: Run, path: str, text: str) -> str | None:
    """One turn of a session."""
    async with run.agent("desk") as agent:
        session = await open_session(agent, path, registry=REGISTRY)
        turn = await session.turn(text)
        await session.snapshot()
        await session.close()
        agent.set_state("messages", len(session.messages))
        return turn.text
