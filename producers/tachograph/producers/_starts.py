"""First events: of a run, and of a process that joins one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tachograph.core.boundary import RunContext
from tachograph.core.causality import check_id
from tachograph.producers._entry import Draft, Extra
from tachograph.producers._entrypoint import Entrypoint
from tachograph.producers._life import Life
from tachograph.producers._messages import digest_of
from tachograph.producers._opening import Started
from tachograph.producers._recovery import recover_messages
from tachograph.producers._snapshot import snapshot
from tachograph.producers._unit import Unit
from tachograph.schemas import ROOT_AGENT_ID, Cause


@dataclass(frozen=True, slots=True)
class Invocation:
    """An entry point and what it is called with."""

    entrypoint: Entrypoint | None
    """None: it cannot be re-driven."""
    args: tuple[object, ...]
    kwargs: Mapping[str, object]

    @property
    def text(self) -> str | None:
        """The entry point's name."""
        return self.entrypoint.text if self.entrypoint is not None else None

    def arguments(self) -> dict[str, object]:
        """The arguments as they are recorded."""
        return {"args": list(self.args), "kwargs": dict(self.kwargs)}


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is said of a run when it starts."""

    name: str
    inputs: Mapping[str, object]
    """Versions that are stated, beside those that are found."""
    retention: str
    parent_run_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinStart:
    """Where a process joins a run, as whom, and what it states of its versions."""

    context: RunContext
    agent_id: str
    inputs: Mapping[str, object]


def start_run(life: Life, run_id: str, start: RunStart, invocation: Invocation) -> Started:
    """Write RunStarted.

    Raises:
        UnserialisableValue: an argument or an input cannot be recorded.
        KeyRefused: raw bodies are to be kept, and the tenant's key cannot be used.
    """
    fields: dict[str, object] = {
        "name": start.name,
        "entrypoint": invocation.text,
        "parent_run_id": start.parent_run_id,
        "retention": start.retention,
        "redaction": life.redaction_version,
        "arguments": life.encoded(invocation.arguments()),
        "inputs": life.encoded(snapshot(invocation.entrypoint, start.inputs)),
        "fork": None,
    }
    life.begin_raw(run_id)
    unit = Unit(life, run_id, "run")
    incarnation = life.claim(run_id, ROOT_AGENT_ID)
    return Started(unit, unit.start(ROOT_AGENT_ID, incarnation, Draft("RunStarted", fields)))


def start_join(life: Life, start: JoinStart, invocation: Invocation) -> Started:
    """Write AgentStarted for a process of its own.

    Raises:
        InvalidIdentifier: an id cannot be one.
        UnserialisableValue: an argument or an input cannot be recorded.
    """
    context = start.context
    check_id("run id", context.run_id)
    check_id("agent id", start.agent_id)
    fields: dict[str, object] = {
        "role": "",
        "parent_agent_id": context.agent_id,
        "entrypoint": invocation.text,
        "redaction": life.redaction_version,
        "arguments": life.encoded(invocation.arguments()),
        "inputs": life.encoded(snapshot(invocation.entrypoint, start.inputs)),
    }
    life.begin_raw(context.run_id)
    unit = Unit(life, context.run_id, "agent")
    unit.observe(context.hlc, context.agent_id)
    incarnation = life.claim(context.run_id, start.agent_id)
    recover_messages(life, context.run_id, start.agent_id, incarnation)
    first = Draft("AgentStarted", fields, Extra(causes=_causes(context)))
    return Started(unit, unit.start(start.agent_id, incarnation, first))


def _causes(context: RunContext) -> tuple[Cause, ...]:
    digest = digest_of(context.hash)
    if digest is None:  # its process does not record
        return ()
    return (Cause(context.run_id, context.agent_id, context.incarnation, context.seq, digest),)
