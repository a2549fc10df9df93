"""The SDK inside agent services: record what agents see and do.

A `Recorder` opens runs and drives entry points; behind each agent stands a recording tape (`_tape`, `_passage`), which
hands drafts to the journal's queue. A writer thread turns them into bytes (`_lowering`) and appends them to the spool
(`_drain`); an effect leaves only after its record is durable (`_ledger`).
"""

from tachograph.core.boundary import Agent, Receipted, Run, RunContext, SyncAgent, current_agent, tool
from tachograph.core.errors import (
    AgentMisuse,
    EffectAlreadyConfirmed,
    EffectRefused,
    ReconciliationRequired,
    SpoolUnwritable,
    UnserialisableValue,
)
from tachograph.producers._directory import DirectoryTransport
from tachograph.producers._in_process import InProcessTransport
from tachograph.producers._reconcile import Decision, OpenEffect, Reconciler
from tachograph.producers._recorder import Recorder
from tachograph.producers._services import reconcile_service
from tachograph.producers._sources import SystemSources
from tachograph.producers._statistics import Statistics

__all__ = [
    "Agent",
    "AgentMisuse",
    "Decision",
    "DirectoryTransport",
    "EffectAlreadyConfirmed",
    "EffectRefused",
    "InProcessTransport",
    "OpenEffect",
    "Receipted",
    "Reconciler",
    "ReconciliationRequired",
    "Recorder",
    "Run",
    "RunContext",
    "SpoolUnwritable",
    "Statistics",
    "SyncAgent",
    "SystemSources",
    "UnserialisableValue",
    "current_agent",
    "reconcile_service",
    "tool",
]
