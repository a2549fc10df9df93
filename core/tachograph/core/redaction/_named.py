"""Secrets in running text that stand behind their name: `password=…`, `"api_key": "…"`, a header and its line."""

from __future__ import annotations

import re

from tachograph.core.redaction._keys import IN_TEXT
from tachograph.core.redaction._suspicion import ends_of_names
from tachograph.core.redaction._tokens import TOKEN, Minter

_NAME_CHARACTERS_MAX = 128
_NAME = re.compile(
    rf"(?ai)(?:(?P<header>(?<!\w)(?:proxy-)?authorization|(?<!\w)(?:set-)?cookie)|{IN_TEXT})"
    r"(?P<between>[:=\"'\\ ]{0,64}[:=])\Z"
)
_VALUE = re.compile(
    r"\s{0,4}(?:(?P<quote>\\*[\"'])(?P<quoted>(?:(?!(?P=quote)).){1,8192})(?P=quote)"
    r"|(?P<bare>[^\s,;&\"'<>\[\]{}()\\]+))",
    re.DOTALL,
)
_LINE = re.compile(r"[ \t]*(?P<line>[^\r\n\"'\\]+)")
_NO_SECRETS = frozenset(
    {"none", "null", "true", "false", "undefined", "nil", "str", "string", "int", "bool", "optional"}
)
_ENDS = ("", "\n", "\r", ",", ";", "&", '"', "'", "\\")


def redact_named(text: str, minter: Minter) -> str:
    """A text with what stands behind secrets' names replaced."""
    parts: list[str] = []
    at = 0
    for spot in ends_of_names(text):
        name = _NAME.search(text, max(at, spot - _NAME_CHARACTERS_MAX), spot) if spot > at else None
        span = None if name is None else _span(text, name)
        if span is not None:
            parts += [text[at : span[0]], minter.token("secret", text[slice(*span)])]
            at = span[1]
    return "".join([*parts, text[at:]])


def _span(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    """Where the value behind a name stands, if it is one."""
    if TOKEN.match(text, max(name.start() - 1, 0)):
        return None
    if name["header"] and name["between"] == ":":
        match = _LINE.match(text, name.end())
        group = "line"
    else:
        match = _VALUE.match(text, name.end())
        group = "bare" if match is not None and match["quoted"] is None else "quoted"
    if match is None:
        return None
    value = match[group].rstrip()
    if not value or TOKEN.fullmatch(value) or value.lower() in _NO_SECRETS:
        return None
    if group == "bare" and not _is_value(name, value, text[match.end() : match.end() + 1]):
        return None
    start = match.start(group)
    return start, start + len(value)


def _is_value(name: re.Match[str], value: str, behind: str) -> bool:
    """Whether what follows a name without quotes is a value, and not prose or code."""
    between = name["between"]
    if behind in ("(", "[") or between.endswith("=="):
        return False
    if '"' in between or "'" in between or any(character.isdigit() for character in value):
        return True
    if between.endswith("="):
        return value.lower() != name[0][: -len(between)].lower()
    return len(value) >= 4 and behind in _ENDS
