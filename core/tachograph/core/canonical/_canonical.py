"""Canonical JSON: RFC 8785 with strings in Unicode's normal form C."""

from __future__ import annotations

from tachograph.core.canonical._json import JsonValue
from tachograph.core.canonical._plain import dump, has_astral_key, is_normal, is_plain
from tachograph.core.canonical._reference import serialise
from tachograph.core.canonical._refusal import Refusal


def canonical(value: JsonValue) -> bytes:
    """A JSON value as canonical JSON, UTF-8 (RFC 8785; strings and keys are normalised to NFC first).

    Raises:
        UnserialisableValue: not JSON: another type, NaN, an integer beyond 2**53 - 1, half of a surrogate pair,
            two keys that are one in NFC, or more than 64 levels.
    """
    if is_plain(value):
        try:
            data = dump(value, ordered=False)
        except TypeError:  # the slow way names the value
            pass
        else:
            if is_normal(data) and not has_astral_key(data):
                return data
    try:
        return serialise(value).encode()
    except Refusal as refusal:
        raise refusal.error() from None
