"""An assembly as a value: which plug-ins there are, what they need, and which port each of them serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tachograph.producers.harness._shapes import no_fields


@dataclass(frozen=True, slots=True)
class PluginPlan:
    """One plug-in of an assembly."""

    name: str
    """Its name within the assembly."""
    use: str
    """The installed plug-in it is made by."""
    needs: tuple[str, ...] = ()
    """Names of the plug-ins it is given."""
    settings: Mapping[str, object] = field(default_factory=no_fields)


@dataclass(frozen=True, slots=True)
class Plan:
    """An assembly."""

    plugins: Mapping[str, PluginPlan]
    """By name, in dependency order: a plug-in stands behind everything it needs."""
    model: str
    """Name of the plug-in that answers."""
    tools: tuple[str, ...] = ()
    memory: str | None = None
    policy: str | None = None
    system: str = ""
    """The system message; none when empty."""
    parameters: Mapping[str, object] = field(default_factory=no_fields)
    """Passed and recorded with every model request: `model`, `temperature`, …; of these, `provider` and
    `model_version` are recorded only."""
    rounds_max: int = 20
    """Model answers within one turn; the turn is stopped there."""
    snapshot_rounds: int = 1
    """A snapshot after every so many rounds; 0: only when asked for."""
    digest: str = ""
    """SHA-256 of the text it was read from, in hex; empty where it was made in code."""

    def closure(self, name: str) -> Sequence[str]:
        """A plug-in and everything it needs, dependencies first."""
        wanted = {name}
        for plugin in reversed(list(self.plugins.values())):
            if plugin.name in wanted:
                wanted.update(plugin.needs)
        return [each for each in self.plugins if each in wanted]


def changed_plugins(before: Plan, after: Plan) -> frozenset[str]:
    """The plug-ins of `after` that must be made anew: their own entry or one they need differs, or they are new."""
    changed: set[str] = set()
    for name, plugin in after.plugins.items():
        if before.plugins.get(name) != plugin or changed.intersection(plugin.needs):
            changed.add(name)
    return frozenset(changed)
