"""Making text harmless for a terminal."""

from __future__ import annotations

import unicodedata

_SPACES = "Zs"


def escape(text: str) -> str:
    """Text in which nothing can steer a terminal: every control, format and bidirectional character is spelled out.

    Emoji joiners and soft hyphens are spelled out, too: what does not show itself does not pass.
    """
    if text.isprintable():
        return text
    return "".join(map(_harmless, text))


def _harmless(char: str) -> str:
    if char.isprintable():
        return char
    if unicodedata.category(char) == _SPACES:
        return " "
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def width(text: str) -> int:
    """Columns that printable text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clip(text: str, columns: int) -> str:
    """Printable text cut to a number of columns, with an ellipsis where something is left out."""
    if width(text) <= columns:
        return text
    kept: list[str] = []
    free = columns - 1
    for char in text:
        free -= _char_width(char)
        if free < 0:
            break
        kept.append(char)
    return "".join(kept) + "…"
