"""Dependency order of an assembly's plug-ins."""

from __future__ import annotations

from collections.abc import Iterable

from tachograph.core.errors import InvalidSetting
from tachograph.producers.harness._plan import PluginPlan


def in_dependency_order(plugins: Iterable[PluginPlan]) -> dict[str, PluginPlan]:
    """The plug-ins by name, each behind what it needs; otherwise in the order given.

    Raises:
        InvalidSetting: a plug-in needs one that is not there, or itself over others.
    """
    given = {plugin.name: plugin for plugin in plugins}
    ordered: dict[str, PluginPlan] = {}
    for name in given:
        _place(name, given, ordered, ())
    return ordered


def _place(name: str, given: dict[str, PluginPlan], ordered: dict[str, PluginPlan], above: tuple[str, ...]) -> None:
    if name in ordered:
        return
    if name in above:
        ring = " needs ".join([*above[above.index(name) :], name])
        raise InvalidSetting(f"plugins.{name}.needs", list(given[name].needs), f"this is a cycle: {ring}; break it")
    for need in given[name].needs:
        if need not in given:
            raise InvalidSetting(f"plugins.{name}.needs", need, f"there is no such plug-in; there are {known(given)}")
        _place(need, given, ordered, (*above, name))
    ordered[name] = given[name]


def known(names: Iterable[str]) -> str:
    """Names for a message: sorted and quoted."""
    return ", ".join(repr(name) for name in sorted(names)) or "none"
