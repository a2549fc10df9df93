"""Text of an assembly to its plan: every mistake named with its place, its value and the way out."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from tachograph.core.errors import InvalidSetting
from tachograph.producers.harness._order import in_dependency_order, known
from tachograph.producers.harness._plan import Plan, PluginPlan
from tachograph.producers.harness._shapes import as_items, as_mapping
from tachograph.producers.harness._yaml import plain_yaml

ROUNDS_MAX = 10_000
_TOP = ("plugins", "ports", "system", "parameters", "rounds_max", "snapshot_rounds")
_PLUGIN = ("use", "needs", "settings")
_PORTS = ("model", "tools", "memory", "policy")


def plan_of(text: str, installed: Collection[str]) -> Plan:
    """The plan that a YAML text describes.

    Args:
        text: the assembly.
        installed: names of the plug-ins that `use` can name.

    Raises:
        InvalidSetting: something in it cannot be; the message names the place.
    """
    top = _mapping("assembly", plain_yaml(text))
    _only("assembly", top, _TOP)
    plugins = in_dependency_order(_plugins(_mapping("plugins", top.get("plugins")), installed))
    ports = _mapping("ports", top.get("ports"))
    _only("ports", ports, _PORTS)
    return Plan(
        plugins=plugins,
        model=_port("model", ports.get("model"), plugins),
        tools=tuple(_port("tools", name, plugins) for name in _texts("ports.tools", ports.get("tools", []))),
        memory=_optional_port("memory", ports.get("memory"), plugins),
        policy=_optional_port("policy", ports.get("policy"), plugins),
        system=_text("system", top.get("system", "")),
        parameters=_mapping("parameters", top.get("parameters", {})),
        rounds_max=_whole("rounds_max", top.get("rounds_max", 20), 1),
        snapshot_rounds=_whole("snapshot_rounds", top.get("snapshot_rounds", 1), 0),
        digest=digest_of(text),
    )


def digest_of(text: str) -> str:
    """SHA-256 of a text in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _plugins(section: Mapping[str, object], installed: Collection[str]) -> list[PluginPlan]:
    return [_plugin(name, _mapping(f"plugins.{name}", entry), installed) for name, entry in section.items()]


def _plugin(name: str, entry: Mapping[str, object], installed: Collection[str]) -> PluginPlan:
    path = f"plugins.{name}"
    _only(path, entry, _PLUGIN)
    use = _text(f"{path}.use", entry.get("use"))
    if use not in installed:
        raise InvalidSetting(
            f"{path}.use",
            use,
            f"no plug-in of this name is installed; there are {known(installed)}. Install its package",
        )
    needs = tuple(_texts(f"{path}.needs", entry.get("needs", [])))
    return PluginPlan(name, use, needs, _mapping(f"{path}.settings", entry.get("settings", {})))


def _port(port: str, name: object, plugins: Mapping[str, PluginPlan]) -> str:
    text = _text(f"ports.{port}", name)
    if text not in plugins:
        raise InvalidSetting(
            f"ports.{port}", text, f"there is no such plug-in under plugins; there are {known(plugins)}"
        )
    return text


def _optional_port(port: str, name: object, plugins: Mapping[str, PluginPlan]) -> str | None:
    return None if name is None else _port(port, name, plugins)


def _only(path: str, section: Mapping[str, object], allowed: Collection[str]) -> None:
    for key in section:
        if key not in allowed:
            raise InvalidSetting(f"{path}.{key}", section[key], f"there is no such key; there are {known(allowed)}")


def _mapping(path: str, value: object) -> Mapping[str, object]:
    fields = as_mapping(value)
    if fields is None:
        raise InvalidSetting(path, value, "it must be a mapping of names to values")
    return fields


def _text(path: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidSetting(path, value, "it must be text")
    return value


def _texts(path: str, value: object) -> list[str]:
    names = as_items(value)
    if names is None:
        raise InvalidSetting(path, value, "it must be a list of names")
    return [_text(f"{path}[{index}]", item) for index, item in enumerate(names)]


def _whole(path: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= ROUNDS_MAX:
        raise InvalidSetting(path, value, f"it must be a whole number from {least} to {ROUNDS_MAX}")
    return value
