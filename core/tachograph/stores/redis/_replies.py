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
