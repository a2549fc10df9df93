"""The rows: what is measured against what, and the ratio that must hold."""

from __future__ import annotations

from collections.abc import Mapping

from bench._measure import Comparison

_RECORD = "bench.ours._record"
_SPANS = "bench.baselines._spans"
_FLOORS = "bench.baselines._floors"
_TEMPORAL = "bench.baselines._temporal"

GROUPS: Mapping[str, tuple[Comparison, ...]] = {
    "record": (
        Comparison("record a call, CPU", "cpu_us", f"{_RECORD}:call", f"{_SPANS}:span_with_payload", 1.0, 2000, 0.6),
        Comparison("record a call, CPU", "cpu_us", f"{_RECORD}:call", f"{_SPANS}:langfuse_observe", 1 / 8, 2000, 1 / 12),
        Comparison("record a call, CPU", "cpu_us", f"{_RECORD}:call", "bench.baselines._dbos:step", 1 / 30, 200, 1 / 60),
        Comparison(
            "record a call, default redaction", "cpu_us", f"{_RECORD}:call_redacted", f"{_RECORD}:call", 2.0, 2000, 1.4
        ),
    ),
    "wait": (
        Comparison("caller's wait, median", "p50_us", f"{_RECORD}:call_wait", f"{_SPANS}:span_wait", 0.5, 2000, 0.25),
    ),
    "effect": (
        Comparison(
            "effect durable before it leaves", "wall_us", f"{_RECORD}:durable_effect", f"{_FLOORS}:durable_write", 1.5, 300, 1.2
        ),
    ),
}
