"""A report as a JSON document, in the shape of `docs/report.md`."""

from __future__ import annotations

import json

from tachograph.core.canonical import JsonValue
from tachograph.core.replay import verdict_json
from tachograph.core.state import SignatureHit
from tachograph.replay_workers._report_values import AgentFacts, EffectFacts, Report, Row, RunFacts, Timeline, Value

FORMAT = "tachograph-report"
VERSION = 1

STRING_CHARACTERS_MAX = 16_384
"""Longer strings are cut: a payload of megabytes belongs in the log, not in a report of it."""


def report_json(report: Report) -> JsonValue:
    """The document; keys are only ever added."""
    return _cut(
        {
            "format": FORMAT,
            "version": VERSION,
            "kind": report.kind,
            "title": report.title,
            "summary": report.summary,
            "seconds": round(report.seconds, 6),
            "error": report.error,
            "ended": report.ended,
            "changes": [_value(change) for change in report.changes],
            "run": _run(report.run) if report.run is not None else None,
            "parent": _run(report.parent) if report.parent is not None else None,
            "verdict": verdict_json(report.verdict),
            "timeline": _timeline(report.timeline),
        }
    )


def report_json_text(report: Report) -> str:
    """The document as text; everything but plain ASCII is escaped, so that it is harmless in a terminal, too."""
    return json.dumps(report_json(report), ensure_ascii=True, indent=2) + "\n"


def _cut(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value if len(value) <= STRING_CHARACTERS_MAX else value[: STRING_CHARACTERS_MAX - 1] + "…"
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return {key: _cut(item) for key, item in value.items()} if isinstance(value, dict) else value


def _run(run: RunFacts) -> dict[str, JsonValue]:
    return {
        "run_id": run.run_id,
        "name": run.name,
        "entrypoint": run.entrypoint,
        "parent_run_id": run.parent_run_id,
        "tenant": run.tenant,
        "status": run.status,
        "error_type": run.error_type,
        "started_at_us": run.started_at_us,
        "seconds": run.seconds,
        "events": run.events,
        "redaction": run.redaction,
        "frozen": run.frozen,
        "imported_from": run.imported_from,
        "replayability": {"grade": run.grade, "missing": list(run.missing)},
        "signatures": [_signature(hit) for hit in run.signatures],
        "signatures_left_out": run.signatures_left_out,
        "effects": [_effect(effect) for effect in run.effects],
        "effects_left_out": run.effects_left_out,
        "agents": [_agent(agent) for agent in run.agents],
        "agents_left_out": run.agents_left_out,
    }


def _signature(hit: SignatureHit) -> dict[str, JsonValue]:
    return {
        "name": hit.name,
        "class": hit.failure_class.value,
        "severity": hit.severity.value,
        "agent": hit.agent_id,
        "event_ids": list(hit.event_ids),
        "sentence": hit.sentence,
    }


def _effect(effect: EffectFacts) -> dict[str, JsonValue]:
    return {
        "effect_id": effect.effect_id,
        "agent": effect.agent_id,
        "name": effect.name,
        "idempotency_key": effect.idempotency_key,
        "attempt": effect.attempt,
        "state": effect.state,
        "arguments": effect.arguments,
        "receipt": effect.receipt,
        "reason": effect.reason,
        "by": effect.by,
    }


def _agent(agent: AgentFacts) -> dict[str, JsonValue]:
    return {
        "agent": agent.agent_id,
        "incarnation": agent.incarnation,
        "role": agent.role,
        "status": agent.status,
        "error_type": agent.error_type,
        "events": agent.events,
        "calls": dict(agent.calls),
        "open_calls": agent.open_calls,
        "checkpoint": agent.checkpoint,
        "state": [_value(value) for value in agent.values],
        "state_left_out": agent.values_left_out,
    }


def _value(value: Value) -> dict[str, JsonValue]:
    return {"name": value.name, "text": value.text}


def _timeline(timeline: Timeline) -> dict[str, JsonValue]:
    return {
        "run_id": timeline.run_id,
        "rows_total": timeline.rows_total,
        "around": timeline.around,
        "rows": [_row(row) for row in timeline.rows],
    }


def _row(row: Row) -> dict[str, JsonValue]:
    return {
        "number": row.number,
        "event_id": row.event_id,
        "at_ms": row.at_ms,
        "agent": row.agent_id,
        "kind": row.kind,
        "text": row.text,
        "outcome": row.outcome,
        "failed": row.failed,
        "towards": row.towards,
        "diverges": row.diverges,
    }
