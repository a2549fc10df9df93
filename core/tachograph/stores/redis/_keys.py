"""The names of a tenant's keys; the braces keep them in one slot of a cluster."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

ROOT: Final = "tacho"


def prefix_of(tenant: str) -> str:
    """What the names of a tenant's keys begin with: no tenant's is the beginning of another's."""
    return f"{ROOT}:{{{quote(tenant, safe='')}}}:"


FINDINGS: Final = "findings:"
"""With a kind behind it: a hash of finding key to version, order and finding."""

RUNS: Final = "runs"
"""Sorted by member: `FIRST_HLC/RUN_ID`."""

EFFECTS: Final = "effects-of:"
"""With a run id behind it: the set of the ids of its effects."""

COUNTS: Final = "counts"
"""Hash of run id to `EFFECTS UNKNOWN`."""

LEDGER: Final = "effects-under:"
"""With a digest of tool and idempotency key behind it: the set of the ids of the effects that count."""

SIGNATURES: Final = "signatures"
"""Hash of a signature's name to how many runs show it."""

SIGNATURE: Final = "signature:"
"""With a signature's name behind it: hash of run id to `STARTED_AT_US`."""

HITS: Final = "hits:"
"""With a run id behind it: a hash as FINDINGS, of its signature findings."""
