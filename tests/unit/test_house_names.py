"""Public names are pinned, and they use the words of the glossary."""

from __future__ import annotations

import re

from house import PINNED, ROOT, names_text, public_names

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def test_public_names_are_pinned() -> None:
    """A public name comes or goes on purpose: with a change of tests/golden/public_names.txt beside it.

    `make names` writes the list anew.
    """
    assert names_text().splitlines() == PINNED.read_text().splitlines()


def words_refused() -> set[str]:
    """The words in the glossary's last column."""
    rows = re.findall(r"^\|.*\|([^|]*)\|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    return {word.strip() for row in rows[2:] for word in row.split(",") if word.strip()}


def test_public_names_use_the_glossary() -> None:
    """No public name calls a thing by a word that the glossary refuses."""
    refused = words_refused()
    assert "workflow" in refused
    bad = [
        f"{package}.{name}"
        for package, names in public_names().items()
        for name in names
        if refused & {part.lower() for part in _PARTS.findall(name)}
    ]
    assert bad == []
