"""What the catalogue in Redis tells beside runs and effects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SignatureRow:
    """A signature over all runs of a tenant."""

    name: str
    runs: int
    """How many show it."""
    first_us: int
    """When the first of them began: microseconds since 1970."""
    last_us: int
    """When the last of them began."""
