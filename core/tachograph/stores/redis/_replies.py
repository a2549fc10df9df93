"""What Redis answers, as values."""

from __future__ import annotations

from typing import cast

from tachograph.core.findings import Finding, finding_of


def read_finding(value: object) -> Finding:
    """The finding behind its version and the digest of its place, as the script keeps it."""
    return finding_of(cast("bytes", value).split(b"\n", 2)[2])


def list_of(answer: object) -> list[object]:
    """An answer that is a list."""
    return cast("list[object]", answer)


def texts_of(answer: object) -> list[str]:
    """An answer that is a list of texts."""
    return [item.decode() if isinstance(item, bytes) else str(item) for item in list_of(answer)]


def content_of(kind: str, answer: object) -> object:
    """What a key of a kind holds: a hash as a dictionary, members sorted."""
    if kind != "hash":
        return sorted(texts_of(answer))
    flat = list_of(answer)
    return {cast("bytes", flat[at]).decode(): cast("bytes", flat[at + 1]) for at in range(0, len(flat), 2)}
