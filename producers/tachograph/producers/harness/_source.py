"""The file that an assembly is read from, looked at anew between rounds."""

from __future__ import annotations

from pathlib import Path

from tachograph.core.boundary import Agent, tool
from tachograph.core.errors import UnreadableInput
from tachograph.producers.harness._plugins import Registry, installed_plugins
from tachograph.producers.harness._reading import digest_of


class PlanFile:
    """An assembly's file; every look at it goes through the boundary, so a replay sees what the recording saw."""

    def __init__(self, path: str, registry: Registry | None = None) -> None:
        """A file; its plug-ins come from `registry`, or from the installed packages."""
        self.path = path
        self._registry = registry
        self._digest = ""

    async def news(self, agent: Agent) -> str | None:
        """The file's text when it is another than last time, else None.

        Raises:
            UnreadableInput: the file cannot be read.
        """
        text = await agent.call(read_assembly, self.path, self._digest)
        if text is not None:
            self._digest = digest_of(text)
        return text

    async def plugins(self, agent: Agent) -> Registry:
        """The plug-ins that the assembly can use."""
        return self._registry if self._registry is not None else await agent.call(installed_plugins)


@tool(name="harness.assembly", effect="read", raises=(UnreadableInput,))
def read_assembly(path: str, known_digest: str) -> str | None:
    """The text of an assembly file, or None when it is the one whose digest is known."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableInput(path, str(error), "Give the path of a YAML file.") from error
    return None if digest_of(text) == known_digest else text
