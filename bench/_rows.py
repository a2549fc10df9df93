"""The rows: what is measured against what, and the ratio that must hold."""

from __future__ import annotations

from collections.abc import Mapping

from bench._measure import Comparison

_RECORD = "bench.ours._record"
_SPANS = "bench.baselines._spans"
_FLOORS = "bench.baselines._floors"
_TEMPORAL = "bench.baselines._temporal"
_REPLAY = "bench.ours._replay"
_FOLD = "bench.ours._fold"
_FOLD_STEP = "bench.ours._fold_step"
_FOLD_CONSUMER = "bench.ours._fold_consumer"
_CAUSAL = "bench.ours._causal"
_SHIP = "bench.ours._ship"
_ARCHIVE = "bench.ours._archive"
_CUT = "bench.ours._cut"

GROUPS: Mapping[str, tuple[Comparison, ...]] = {
    "record": (
        Comparison("record a call, CPU", "cpu_us", f"{_RECORD}:call", f"{_SPANS}:span_with_payload", 1.0, 2000, 0.6),
        Comparison(
            "record a call, CPU", "cpu_us", f"{_RECORD}:call", f"{_SPANS}:langfuse_observe", 1 / 8, 2000, 1 / 12
        ),
        Comparison(
            "record a call, CPU", "cpu_us", f"{_RECORD}:call", "bench.baselines._dbos:step", 1 / 30, 200, 1 / 60
        ),
        Comparison(
            "record a call, default redaction", "cpu_us", f"{_RECORD}:call_redacted", f"{_RECORD}:call", 2.0, 2000, 1.4
        ),
        Comparison(
            "the same, and encryption", "cpu_us", f"{_RECORD}:call_encrypted", f"{_RECORD}:call", 2.0, 2000, 1.4
        ),
        Comparison(
            "an address in every call, encrypted",
            "cpu_us",
            f"{_RECORD}:call_addressed_encrypted",
            f"{_RECORD}:call_addressed",
            1.5,
            2000,
            1.2,
        ),
    ),
    "wait": (
        Comparison("caller's wait, median", "p50_us", f"{_RECORD}:call_wait", f"{_SPANS}:span_wait", 0.5, 2000, 0.25),
        Comparison(
            "caller's wait, p99 beside the span's median",
            "p99_us",
            f"{_RECORD}:call_wait",
            f"{_SPANS}:span_wait",
            2.0,
            2000,
            baseline_figure="p50_us",
        ),
    ),
    "effect": (
        Comparison(
            "effect durable before it leaves",
            "wall_us",
            f"{_RECORD}:durable_effect",
            f"{_FLOORS}:durable_write",
            1.5,
            300,
            1.2,
        ),
        Comparison(
            "the same, eight at a time",
            "wall_us",
            f"{_RECORD}:durable_effects",
            f"{_FLOORS}:durable_writes",
            1.5,
            800,
            1.2,
        ),
    ),
    "storage": (
        Comparison(
            "storage of a growing conversation",
            "bytes",
            "bench.ours._storage:growing_conversation",
            "bench.ours._storage:new_content",
            1.5,
            1,
            1.1,
        ),
    ),
    "verify": (
        Comparison(
            "verify an event", "cpu_us", "bench.ours._verify:verify", "bench.ours._verify:hash_and_decode", 1.3, 1, 0.6
        ),
    ),
    "fold": (
        Comparison("fold an event into its run's state", "cpu_us", f"{_FOLD}:fold", f"{_FOLD}:decode", 0.6, 1, 0.25),
        Comparison(
            "fold an event, broker to commit",
            "cpu_us",
            f"{_FOLD_CONSUMER}:fold",
            f"{_FOLD_CONSUMER}:plain",
            1.0,
            1,
            0.4,
        ),
    ),
    "fold-size": (
        Comparison(
            "a run of 1,000,000 events, an event",
            "cpu_us",
            f"{_FOLD_STEP}:hot_run",
            f"{_FOLD_STEP}:hot_run_tenth",
            1.3,
            1,
        ),
        Comparison(
            "100,000 runs of ten, an event",
            "cpu_us",
            f"{_FOLD_STEP}:small_runs",
            f"{_FOLD_STEP}:small_runs_tenth",
            1.3,
            1,
        ),
        Comparison(
            "memory for a run of 1,000,000 events, MiB",
            "peak_mib",
            f"{_FOLD_STEP}:hot_run",
            f"{_FOLD_STEP}:hot_run_tenth",
            1.1,
            1,
        ),
        Comparison(
            "memory for 100,000 runs of ten, MiB",
            "peak_mib",
            f"{_FOLD_STEP}:small_runs",
            f"{_FOLD_STEP}:small_runs_tenth",
            2.5,
            1,
        ),
    ),
    "cut": (
        Comparison(
            "state at an event of 1,000,000, the whole fold",
            "wall_us",
            f"{_CUT}:at_event",
            f"{_CUT}:whole",
            1 / 10,
            1_000_000,
            1 / 40,
        ),
        Comparison(
            "the same in a run of a tenth", "wall_us", f"{_CUT}:at_event", f"{_CUT}:at_event_tenth", 1.3, 1_000_000
        ),
        Comparison(
            "past and future of an event, an event of the run",
            "cpu_us",
            f"{_CUT}:cones",
            f"{_CUT}:cones_tenth",
            2.0,
            1_000_000,
        ),
    ),
    "order": (
        Comparison(
            "causal order over 64 partitions, an event", "cpu_us", f"{_CAUSAL}:order", f"{_FOLD}:decode", 0.35, 1, 0.15
        ),
    ),
    "replay": (
        Comparison(
            "exact replay, one by one", "wall_us", f"{_REPLAY}:sequential", f"{_TEMPORAL}:sequential", 1 / 30, 1, 1 / 55
        ),
        Comparison(
            "exact replay, ten at a time", "wall_us", f"{_REPLAY}:batched", f"{_TEMPORAL}:batched", 1 / 10, 1, 1 / 17
        ),
        Comparison(
            "exact replay, one by one", "wall_us", f"{_REPLAY}:sequential", f"{_FLOORS}:seed_loop", 4.0, 40_000, 2.0
        ),
    ),
    "bulk": (
        Comparison(
            "exact replay of 100 runs, two processes",
            "wall_us",
            f"{_REPLAY}:bulk_two",
            f"{_REPLAY}:bulk_one",
            1 / 1.7,
            1,
        ),
    ),
    "ship": (
        Comparison(
            "ship an event, spool to broker",
            "wall_us",
            f"{_SHIP}:ship",
            f"{_SHIP}:plain_with_headers",
            2.0,
            60_000,
            1.25,
        ),
        Comparison(
            "beside bare values: no headers, no time", "wall_us", f"{_SHIP}:ship", f"{_SHIP}:plain", 2.0, 60_000, 1.25
        ),
    ),
    "catalogue": (
        Comparison(
            "a finding into Redis, indexed",
            "wall_us",
            "bench.ours._catalogue:apply",
            "bench.ours._catalogue:pipeline",
            1.0,
            20_000,
            1 / 3,
        ),
    ),
    "insights": (
        Comparison(
            "a finding, broker to catalogue, in Faust",
            "wall_us",
            "bench.ours._insights:insights",
            "bench.ours._insights:bare",
            1 / 0.7,
            20_000,
        ),
    ),
    "archive": (
        Comparison(
            "archive an event, broker to S3", "wall_us", f"{_ARCHIVE}:archive", f"{_ARCHIVE}:plain", 1.25, 40_000, 1.0
        ),
    ),
}
