"""Verdicts as JSON, for reports, `--json` and the pipe of a replaying child.

    {"status": "reproduced" | "diverged" | "limited",
     "levels": {"control_flow": LEVEL, "state": LEVEL, "content": LEVEL},     LEVEL: "reproduced" | "diverged" | "not_proved"
     "first_divergence": DIVERGENCE | null, "divergences": [DIVERGENCE, …],
     "fidelity": str, "taints": [str, …], "missing": [str, …],
     "served": {kind: int}, "live": {kind: int}, "blocked": [READ, …],
     "steps": {"recorded": int, "replayed": int}, "agents": int,
     "code": {"recorded": str | null, "replayed": str | null}}

    DIVERGENCE: {"kind", "agent", "incarnation", "step", "event", "hlc", "sentence", "recorded": STEP | null,
                 "replayed": STEP | null, "changes": [CHANGE, …], "candidates": [{"step": STEP, "changes": [CHANGE, …]}, …],
                 "unrecorded": READ | null, "recorded_count", "asked_count"}
    STEP:       {"agent", "incarnation", "number", "kind", "name", "key" (hex), "arguments" (canonical JSON text), "version",
                 "seq", "hlc", "outcome", "result" (canonical JSON text), "error_type", "where"}
    CHANGE:     {"path", "recorded", "replayed"}
    READ:       {"what", "source", "file", "line", "remedy", "agent", "after_step"}

Keys are only ever added.
"""

from __future__ import annotations

from tachograph.core.canonical import JsonValue
from tachograph.core.replay._values import Divergence, FieldChange, Step, UnrecordedInput, Verdict


def verdict_json(verdict: Verdict) -> dict[str, JsonValue]:
    """A verdict as JSON."""
    first = verdict.first_divergence
    return {
        "status": verdict.status.value,
        "levels": {"control_flow": verdict.control_flow, "state": verdict.state, "content": verdict.content},
        "first_divergence": divergence_json(first) if first is not None else None,
        "divergences": [divergence_json(found) for found in verdict.divergences],
        "fidelity": verdict.fidelity,
        "taints": list(verdict.taints),
        "missing": list(verdict.missing),
        "served": dict(verdict.served),
        "live": dict(verdict.live),
        "blocked": [read_json(read) for read in verdict.blocked],
        "steps": {"recorded": verdict.steps_recorded, "replayed": verdict.steps_replayed},
        "agents": verdict.agents,
        "code": {"recorded": verdict.recorded_code, "replayed": verdict.replayed_code},
    }


def divergence_json(found: Divergence) -> dict[str, JsonValue]:
    """A divergence as JSON."""
    return {
        "kind": found.kind.value,
        "agent": found.agent_id,
        "incarnation": found.incarnation,
        "step": found.step,
        "event": found.event_id,
        "hlc": found.hlc,
        "sentence": found.sentence,
        "recorded": step_json(found.recorded) if found.recorded is not None else None,
        "replayed": step_json(found.replayed) if found.replayed is not None else None,
        "changes": [_change_json(change) for change in found.changes],
        "candidates": [
            {"step": step_json(one.step), "changes": [_change_json(change) for change in one.changes]}
            for one in found.candidates
        ],
        "unrecorded": read_json(found.unrecorded) if found.unrecorded is not None else None,
        "recorded_count": found.recorded_count,
        "asked_count": found.asked_count,
    }


def step_json(step: Step) -> dict[str, JsonValue]:
    """A step as JSON."""
    return {
        "agent": step.agent_id,
        "incarnation": step.incarnation,
        "number": step.number,
        "kind": step.kind,
        "name": step.name,
        "key": step.key.hex(),
        "arguments": step.arguments.decode(),
        "version": step.version,
        "seq": step.seq,
        "hlc": step.hlc,
        "outcome": step.outcome.value if step.outcome is not None else None,
        "result": step.result.decode() if step.result is not None else None,
        "error_type": step.error_type,
        "where": step.where,
    }


def read_json(read: UnrecordedInput) -> dict[str, JsonValue]:
    """A read past the boundary as JSON."""
    return {
        "what": read.what,
        "source": read.source,
        "file": read.file,
        "line": read.line,
        "remedy": read.remedy,
        "agent": read.agent_id,
        "after_step": read.after_step,
    }


def _change_json(change: FieldChange) -> dict[str, JsonValue]:
    return {"path": change.path, "recorded": change.recorded, "replayed": change.replayed}
