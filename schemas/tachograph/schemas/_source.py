"""Compiles source that the codec wrote itself from its own schemas: no text from outside ever gets here."""

from __future__ import annotations


def load(title: str, lines: list[str], names: dict[str, object]) -> dict[str, object]:
    """The names that the source defines, together with those it was given."""
    exec(compile("\n".join(lines), f"<{title}>", "exec"), names)  # noqa: S102  # as dataclasses do it
    return names
