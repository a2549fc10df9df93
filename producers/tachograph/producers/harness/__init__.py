"""A small agent loop over four ports: model, tools, memory, policy.

A `Plan` (from YAML: `plan_of`, `open_session`) says which plug-ins there are, what they need and which port each
serves. A `Session` runs the rounds. Plug-ins live in a workshop behind the boundary and are made when they are first
needed; what control logic knows of them are the facts that the boundary recorded, so a replay makes none of them.
"""

from tachograph.producers.harness._builtin import NamedTools, RecentMemory, ScriptedModel
from tachograph.producers.harness._messages import ToolCall, tool_calls_of
from tachograph.producers.harness._plan import Plan, PluginPlan
from tachograph.producers.harness._plugins import Factory, Registry, installed_plugins
from tachograph.producers.harness._ports import (
    Decision,
    MemoryPort,
    Message,
    Migrating,
    ModelPort,
    PolicyPort,
    Stateful,
    ToolPort,
    ToolRefused,
    ToolRow,
)
from tachograph.producers.harness._reading import plan_of
from tachograph.producers.harness._remote import RemoteTools, serve_tools
from tachograph.producers.harness._roster import Roster
from tachograph.producers.harness._session import Session, Turn, open_session
from tachograph.producers.harness._snapshot import Snapshot
from tachograph.producers.harness._tools import LocalTools, ToolRunner
from tachograph.producers.harness._workshop import Workshop

__all__ = [
    "Decision",
    "Factory",
    "LocalTools",
    "MemoryPort",
    "Message",
    "Migrating",
    "ModelPort",
    "NamedTools",
    "Plan",
    "PluginPlan",
    "PolicyPort",
    "RecentMemory",
    "Registry",
    "RemoteTools",
    "Roster",
    "ScriptedModel",
    "Session",
    "Snapshot",
    "Stateful",
    "ToolCall",
    "ToolPort",
    "ToolRefused",
    "ToolRow",
    "ToolRunner",
    "Turn",
    "Workshop",
    "installed_plugins",
    "open_session",
    "plan_of",
    "serve_tools",
    "tool_calls_of",
]
