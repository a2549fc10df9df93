"""Payloads of realistic shape; every one differs, so that nothing is flattered by compression or caches."""

from __future__ import annotations

import random

SEQUENTIAL_CALLS = 8_000
BATCHED_CALLS = 10_000
"""Calls of a replayed run, one by one and ten at a time, ours and Temporal's alike."""

_WORDS = (
    "refund order ticket customer flight invoice policy cancel change seat baggage economy business amount date "
    "passenger reservation confirm certificate payment card balance travel insurance weather airport agent please "
    "thank review status update delay missing partial total currency exchange rate branch manager approval window"
).split()


def text(rng: random.Random, size: int) -> str:
    """Words, `size` characters of them; about as many numbers among them as in letters to a help desk."""
    words: list[str] = []
    length = 0
    while length < size:
        word = rng.choice(_WORDS) if rng.random() < 0.97 else str(rng.randrange(1, 9999))
        words.append(word)
        length += len(word) + 1
    return " ".join(words)[:size]


def arguments(rng: random.Random) -> dict[str, object]:
    """About 1 KiB of a tool's arguments."""
    return {
        "ticket": f"T-{rng.randrange(10**6)}",
        "customer": {"name": text(rng, 20), "tier": rng.choice(["gold", "blue"]), "visits": rng.randrange(400)},
        "lines": [
            {"sku": f"S{rng.randrange(10**5)}", "count": rng.randrange(9), "note": text(rng, 60)} for _ in range(4)
        ],
        "instruction": text(rng, 450),
        "urgent": rng.random() < 0.5,
    }


def result(rng: random.Random) -> dict[str, object]:
    """About 2 KiB of a tool's result."""
    return {
        "status": "ok",
        "summary": text(rng, 900),
        "rows": [{"id": rng.randrange(10**6), "label": text(rng, 40), "open": rng.random() < 0.5} for _ in range(10)],
        "next": None,
    }


def pairs(count: int, seed: int = 7) -> list[tuple[dict[str, object], dict[str, object]]]:
    """`count` (arguments, result)."""
    rng = random.Random(seed)
    return [(arguments(rng), result(rng)) for _ in range(count)]
