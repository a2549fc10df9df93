"""Values of other floors as JSON documents, in the shapes of `docs/cli.md`."""

from __future__ import annotations

from typing import cast

from tachograph.control._answer import Document
from tachograph.core.ports import ForkResult, ReplayResult
from tachograph.core.replay import Divergence, Verdict, divergence_json, verdict_json


def verdict_document(verdict: Verdict) -> Document:
    """A verdict."""
    return cast("Document", verdict_json(verdict))


def divergence_document(divergence: Divergence) -> Document:
    """A divergence."""
    return cast("Document", divergence_json(divergence))


def replay_document(result: ReplayResult) -> dict[str, Document]:
    """A replayed run."""
    return {
        "run_id": result.run_id,
        "name": result.run_name,
        "seconds": round(result.seconds, 6),
        "error": result.error,
        "verdict": verdict_document(result.verdict),
    }


def fork_document(result: ForkResult) -> dict[str, Document]:
    """A fork."""
    return {
        "run_id": result.run_id,
        "parent_run_id": result.parent_run_id,
        "ended": result.ended,
        "seconds": round(result.seconds, 6),
        "verdict": verdict_document(result.verdict),
    }
