"""Choices that the demo's seed makes: the same seed, the same choice, on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")


def seeded_number(seed: int, what: str, below: int) -> int:
    """A whole number from 0 up to, not including, `below`."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{what}".encode()).digest()[:8]) % below


def seeded_choice(seed: int, what: str, among: Sequence[Choice]) -> Choice:
    """One of several."""
    return among[seeded_number(seed, what, len(among))]
