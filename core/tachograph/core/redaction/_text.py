"""Redaction of running text."""

from __future__ import annotations

import re

from tachograph.core.redaction._card import cards_in
from tachograph.core.redaction._patterns import ASSIGNMENT, CARD_CANDIDATE, HEADER_LINE, SHAPES, Shape
from tachograph.core.redaction._tokens import TOKEN, Minter

_NO_SECRETS = frozenset(
    {"none", "null", "true", "false", "undefined", "nil", "str", "string", "int", "bool", "optional"}
)
_CARD_CHARACTERS_MIN = 13
_PASSES_MAX = 8


def redact_running(text: str, minter: Minter) -> str:
    """A text with every secret and personal datum in it replaced by its token.

    A token can make a shape of what stands beside it; passes go on until one finds nothing, so that redacting the result
    again changes nothing.
    """
    for _ in range(_PASSES_MAX):
        before = minter.count
        text = _pass(text, minter)
        if minter.count == before:
            break
    return text


def _pass(text: str, minter: Minter) -> str:
    text = HEADER_LINE.sub(lambda match: _header(match, minter), text) if ":" in text else text
    if ":" in text or "=" in text:
        text = ASSIGNMENT.sub(lambda match: _assignment(match, minter), text)
    for shape in SHAPES:
        if any(gate in text for gate in shape.gate):
            text = _shape(shape, text, minter)
    if len(text) >= _CARD_CHARACTERS_MIN:
        text = CARD_CANDIDATE.sub(lambda match: _cards(match[0], minter), text)
    return text


def _shape(shape: Shape, text: str, minter: Minter) -> str:
    def replaced(match: re.Match[str]) -> str:
        group = match.lastindex or 0
        found = match[group]
        if not shape.confirms(found):
            return match[0]
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:start] + minter.token(shape.kind, found) + match[0][end:]

    return shape.pattern.sub(replaced, text)


def _cards(found: str, minter: Minter) -> str:
    parts: list[str] = []
    at = 0
    for start, end in cards_in(found):
        parts += [found[at:start], minter.token("card", found[start:end])]
        at = end
    return "".join([*parts, found[at:]])


def _header(match: re.Match[str], minter: Minter) -> str:
    value = match[2].rstrip()
    if TOKEN.fullmatch(value) or not value:
        return match[0]
    start = match.start(2) - match.start()
    return match[0][:start] + minter.token("secret", value) + match[2][len(value) :]


def _assignment(match: re.Match[str], minter: Minter) -> str:
    group = "bare" if match["quoted"] is None else "quoted"
    value = match[group]
    if TOKEN.fullmatch(value) or value.lower() in _NO_SECRETS or not value.strip():
        return match[0]
    if group == "bare" and not _is_value(match, value):
        return match[0]
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + minter.token("secret", value) + match[0][end:]


def _is_value(match: re.Match[str], value: str) -> bool:
    """Whether what follows a name without quotes is a value, and not prose or code."""
    behind = match.string[match.end() : match.end() + 2]
    if behind[:1] in ("(", "["):
        return False
    if match["close"] or any(character.isdigit() for character in value):
        return True
    if match["sign"] == "=":
        return value.lower() != match["name"].lower()
    return len(value) >= 4 and behind[:1] in ("", "\n", "\r", ",", ";", "&", '"', "'", "\\")
