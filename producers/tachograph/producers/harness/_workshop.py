"""Where plug-ins live. Everything here happens behind the boundary: a replay never makes a plug-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from tachograph.core.boundary import tool
from tachograph.core.errors import InvalidSetting
from tachograph.producers.harness._plan import Plan
from tachograph.producers.harness._plugins import Registry, factory_of
from tachograph.producers.harness._ports import PORTS, MemoryPort, Migrating, ModelPort, PolicyPort, Stateful, ToolPort


class Workshop:
    """Makes plug-ins when they are first needed, and keeps them."""

    def __init__(self, plan: Plan, registry: Registry) -> None:
        self._plan = plan
        self._registry = registry
        self._made: dict[str, object] = {}

    def adopt(self, plan: Plan, registry: Registry) -> None:
        """Go on with another plan."""
        self._plan = plan
        self._registry = registry

    @tool(name="harness.discard")
    async def discard(self, names: Sequence[str]) -> dict[str, str]:
        """Let plug-ins go, closing those that have a `close`; returns, by name, why one could not be closed."""
        failures: dict[str, str] = {}
        for name in names:
            close = getattr(self._made.pop(name, None), "close", None)
            try:
                if callable(close):
                    close()
            except Exception as error:
                failures[name] = f"{type(error).__name__}: {error}"
        return failures

    @tool(name="harness.open", effect="read")
    async def open(self, name: str, saved: Mapping[str, object] | None) -> dict[str, object]:
        """Make a plug-in whose needs are made; `saved` is `{"version", "state"}` of an earlier instance.

        Returns facts: `ready` with what the plug-in says of itself, or why it is not. A broken plug-in must not
        take the session with it, so nothing that its code raises leaves here.
        """
        try:
            plugin = self._make(name)
            _hydrate(plugin, saved)
            facts = _facts(plugin)
        except Exception as error:
            return {"ready": False, "reason": f"{type(error).__name__}: {error}"}
        self._made[name] = plugin
        return facts

    @tool(name="harness.state", effect="read")
    async def state_of(self, name: str) -> dict[str, object]:
        """What a stateful plug-in wants kept: `{"version", "state"}`."""
        plugin = cast("Stateful", self._made[name])
        return {"version": plugin.state_version, "state": plugin.dehydrate()}

    def model(self, name: str) -> ModelPort:
        """The plug-in as a model."""
        return cast("ModelPort", self._made[name])

    def tools(self, name: str) -> ToolPort:
        """The plug-in as a set of tools."""
        return cast("ToolPort", self._made[name])

    def memory(self, name: str) -> MemoryPort:
        """The plug-in as a memory."""
        return cast("MemoryPort", self._made[name])

    def policy(self, name: str) -> PolicyPort:
        """The plug-in as a policy."""
        return cast("PolicyPort", self._made[name])

    def _make(self, name: str) -> object:
        plugin = self._plan.plugins[name]
        needs = {need: self._made[need] for need in plugin.needs}
        return factory_of(plugin.use, self._registry)(plugin.settings, needs)


def _hydrate(plugin: object, saved: Mapping[str, object] | None) -> None:
    if saved is None:
        return
    if not _has(plugin, ("hydrate",)):
        raise InvalidSetting("hydrate", type(plugin).__name__, "there is saved state, but the plug-in takes none")
    stateful = cast("Stateful", plugin)
    version, state = saved["version"], saved["state"]
    if version != stateful.state_version:
        state = _migrated(plugin, stateful.state_version, state, version)
    stateful.hydrate(state)


def _migrated(plugin: object, wanted: int, state: object, version: object) -> object:
    migrate: Callable[..., object] | None = getattr(plugin, "migrate", None)
    if migrate is None or not isinstance(version, int):
        raise InvalidSetting(
            "state_version",
            version,
            f"{type(plugin).__name__} reads version {wanted}; give it a migrate(state, version)",
        )
    return cast("Migrating", plugin).migrate(state, version)


def _has(plugin: object, methods: Sequence[str]) -> bool:
    return all(callable(getattr(plugin, method, None)) for method in methods)


def _facts(plugin: object) -> dict[str, object]:
    """What control logic must know of a plug-in, as plain data: it is all that a replay has of it."""
    version = getattr(plugin, "version", None)
    facts: dict[str, object] = {
        "ready": True,
        "version": version if isinstance(version, str) else None,
        "ports": [port for port, methods in PORTS.items() if _has(plugin, methods)],
        "stateful": _has(plugin, ("dehydrate", "hydrate")),
    }
    if _has(plugin, PORTS["tools"]):
        facts["tools"] = [dict(row) for row in cast("ToolPort", plugin).catalogue()]
    return facts
