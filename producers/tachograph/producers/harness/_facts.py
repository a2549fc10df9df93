"""What plug-ins said of themselves when they were opened: all that control logic knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tachograph.producers.harness._shapes import as_items, as_mapping, as_text
from tachograph.schemas import EffectClass


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """One tool on offer."""

    plugin: str
    name: str
    description: Mapping[str, object]
    """What the model is told: `name`, `description`, `parameters`."""
    effect: EffectClass
    idempotency: tuple[str, ...]
    version: str | None


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """An opened plug-in, or one that could not be."""

    name: str
    ready: bool
    reason: str | None = None
    """Why it is not ready."""
    ports: tuple[str, ...] = ()
    """The ports it can serve."""
    version: str | None = None
    stateful: bool = False
    tools: tuple[ToolFacts, ...] = ()


def disabled(name: str, reason: str) -> PluginFacts:
    """A plug-in that cannot be used."""
    return PluginFacts(name, ready=False, reason=reason)


def facts_of(name: str, answer: Mapping[str, object]) -> PluginFacts:
    """The facts in what `Workshop.open` answered."""
    if answer.get("ready") is not True:
        return disabled(name, str(answer.get("reason", "it gave no reason")))
    tools: list[ToolFacts] = []
    for row in as_items(answer.get("tools")) or ():
        fields = as_mapping(row) or {}
        if as_text(fields.get("name")) is None:
            return disabled(name, f"its catalogue has a row without a name: {row!r}")
        tools.append(_tool(name, fields))
    return PluginFacts(
        name,
        ready=True,
        ports=tuple(str(port) for port in as_items(answer.get("ports")) or ()),
        version=as_text(answer.get("version")),
        stateful=answer.get("stateful") is True,
        tools=tuple(tools),
    )


def _tool(plugin: str, row: Mapping[str, object]) -> ToolFacts:
    effect = row.get("effect")
    return ToolFacts(
        plugin=plugin,
        name=str(row["name"]),
        description={key: row[key] for key in ("name", "description", "parameters") if key in row},
        effect=effect if effect in ("none", "read") else "write",
        idempotency=tuple(str(key) for key in as_items(row.get("idempotency")) or ()),
        version=as_text(row.get("version")),
    )
