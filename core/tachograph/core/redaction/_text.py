"""Redaction of running text."""

from __future__ import annotations

import re

from tachograph.core.redaction._card import cards_in
from tachograph.core.redaction._named import redact_named
from tachograph.core.redaction._patterns import CARD_CANDIDATE, SHAPES, Shape
from tachograph.core.redaction._suspicion import signs_in
from tachograph.core.redaction._tokens import Minter

_PASSES_MAX = 8
SHORT = 16
"""A text shorter than this that is all letters, digits and `_` holds nothing to redact."""


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
    signs = signs_in(text)
    if "name" in signs:
        text = redact_named(text, minter)
    for shape in SHAPES:
        if shape.sign in signs:
            text = _shape(shape, text, minter)
    return CARD_CANDIDATE.sub(lambda match: _cards(match[0], minter), text) if "number" in signs else text


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
