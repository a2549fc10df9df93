"""Where plug-ins come from: the entry points of installed packages, or a registry given in code."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import cast

from tachograph.core.boundary import tool
from tachograph.core.errors import InvalidSetting

GROUP = "tachograph.plugins"
"""The entry-point group."""

Factory = Callable[[Mapping[str, object], Mapping[str, object]], object]
"""Makes a plug-in from its settings and, by name, the plug-ins it needs."""

Registry = Mapping[str, str | Factory]
"""Name to factory, or to `module:attribute` of one, which is imported when it is first needed."""


@tool(name="harness.plugins", effect="read")
def installed_plugins() -> dict[str, str]:
    """The installed plug-ins: name to `module:attribute`; nothing is imported."""
    return {entry.name: entry.value for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def factory_of(name: str, registry: Registry) -> Factory:
    """The factory of an installed plug-in.

    Raises:
        InvalidSetting: it is not what it should be.
        Exception: whatever importing it raises.
    """
    given = registry[name]
    if not isinstance(given, str):
        return given
    module, _, attribute = given.partition(":")
    found: object = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise InvalidSetting(f"{GROUP}.{name}", given, "it does not name something that can be called")
    return cast("Factory", found)
