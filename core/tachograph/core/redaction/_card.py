"""Card numbers: issuer prefix, length and Luhn's check digit."""

from __future__ import annotations

import re

_GROUP = re.compile(r"\d+")
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|64[4-9]\d|65\d{2}|62\d{2})\d{12,15}"  # Discover, UnionPay
    r"|35(?:2[89]|[3-8]\d)\d{12,15}"  # JCB
    r"|3(?:0[0-5]|[689]\d)\d{11,16}"  # Diners Club
    r"|(?:50\d{2}|5[6-9]\d{2}|6[0-9]\d{2})\d{9,15}"  # Maestro
)
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def is_card(digits: str) -> bool:
    """Whether digits are a card number."""
    if _ISSUERS.fullmatch(digits) is None:
        return False
    values = [int(digit) for digit in digits[::-1]]
    return (sum(values[::2]) + sum(_DOUBLED[value] for value in values[1::2])) % 10 == 0


def cards_in(text: str) -> list[tuple[int, int]]:
    """Where card numbers stand in digits that are grouped by spaces or dashes: (start, end), in order."""
    groups = [match.span() for match in _GROUP.finditer(text)]
    found: list[tuple[int, int]] = []
    first = 0
    while first < len(groups):
        last = _card_from(text, groups, first)
        if last is None:
            first += 1
        else:
            found.append((groups[first][0], groups[last][1]))
            first = last + 1
    return found


def _card_from(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    digits = ""
    for last in range(first, len(groups)):
        digits += text[slice(*groups[last])]
        if len(digits) > 19:
            return None
        if len(digits) >= 13 and is_card(digits):
            return last
    return None
