"""Attempts as JSON, on their way back from the child."""

from __future__ import annotations

from typing import cast

from tachograph.core.replay import (
    Divergence,
    UnitResult,
    UnrecordedInput,
    divergence_from_json,
    divergence_json,
    read_from_json,
    read_json,
)
from tachograph.replay_workers._alternatives import Alternative, Otherwise
from tachograph.replay_workers._unit import Attempt
from tachograph.replay_workers._wire import Frame, Json


def attempt_json(attempt: Attempt) -> Frame:
    """An attempt as JSON."""
    result = attempt.result
    return {
        "divergences": [cast("Json", divergence_json(found)) for found in result.divergences],
        "steps_recorded": result.steps_recorded,
        "steps_replayed": result.steps_replayed,
        "agents": result.agents,
        "driven": result.driven,
        "aligned": result.aligned,
        "served": dict(result.served),
        "blocked": [cast("Json", read_json(read)) for read in result.blocked],
        "taints": list(result.taints),
        "missing": list(result.missing),
        "ended": attempt.ended,
        "matched": attempt.matched,
        "alternatives": [[one.what, one.key, one.value, one.hlc, one.urgent] for one in attempt.alternatives],
        "output": attempt.output,
        "source": attempt.source,
        "spun": attempt.spun,
    }


def attempt_of(data: Frame, otherwise: Otherwise) -> Attempt:
    """The inverse of `attempt_json`."""
    alternatives = cast("list[tuple[str, int, int, int, bool]]", data["alternatives"])
    return Attempt(
        result=UnitResult(
            divergences=tuple(_divergence(found) for found in cast("list[dict[str, Json]]", data["divergences"])),
            steps_recorded=cast("int", data["steps_recorded"]),
            steps_replayed=cast("int", data["steps_replayed"]),
            agents=cast("int", data["agents"]),
            driven=data["driven"] is True,
            aligned=data["aligned"] is True,
            served=cast("dict[str, int]", data["served"]),
            blocked=tuple(_read(read) for read in cast("list[dict[str, Json]]", data["blocked"])),
            taints=tuple(cast("list[str]", data["taints"])),
            missing=tuple(cast("list[str]", data["missing"])),
        ),
        ended=cast("str | None", data["ended"]),
        matched=cast("int", data["matched"]),
        alternatives=tuple(Alternative(*one) for one in alternatives),
        output=cast("str", data["output"]),
        source=cast("str | None", data["source"]),
        spun=data["spun"] is True,
        otherwise=otherwise,
    )


def otherwise_json(otherwise: Otherwise) -> Frame:
    """What an attempt is to do differently, as JSON."""
    return {
        "early": [[key, value] for key, value in otherwise.early.items()],
        "orders": [[key, value] for key, value in otherwise.orders.items()],
        "waits": [[key, value] for key, value in otherwise.waits.items()],
        "behind": [[key, value] for key, value in otherwise.behind.items()],
    }


def otherwise_of(data: Frame) -> Otherwise:
    """The inverse of `otherwise_json`."""
    names = ("early", "orders", "waits", "behind")
    return Otherwise(*(dict(cast("list[tuple[int, int]]", data[name])) for name in names))


def _divergence(data: dict[str, Json]) -> Divergence:
    return divergence_from_json(data)


def _read(data: dict[str, Json]) -> UnrecordedInput:
    return read_from_json(data)
