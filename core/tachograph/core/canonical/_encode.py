"""Python values as the bytes of a body."""

from __future__ import annotations

import re

from tachograph.core.canonical._cycle import explained
from tachograph.core.canonical._json import TAGGED_DEPTH_MAX, JsonValue
from tachograph.core.canonical._plain import dump, has_astral_key, is_normal, is_plain
from tachograph.core.canonical._reference import serialise
from tachograph.core.canonical._refusal import Refusal, TooDeep
from tachograph.core.canonical._tags import Tagger

_TAG_LIKE = re.compile(rb'"\$(?:[^"\\]|\\.)*":', re.DOTALL)


def encode_body(value: object, *, ordered: bool = True) -> bytes:
    """A Python value as canonical JSON with typed tags, UTF-8.

    Args:
        value: plain data, values of the types in `_tags`, and values of registered classes.
        ordered: keep the order of dicts, which whoever is handed the value can see (it may go into a prompt); without
            it keys are sorted as RFC 8785 asks, and equal values have equal bytes.

    Raises:
        UnserialisableValue: a value in it cannot be written; the error names its path.
    """
    if is_plain(value):
        try:
            data = dump(value, ordered=ordered)
        except TypeError:  # something in it needs a tag
            pass
        else:
            if data.isascii() and b"$" not in data:  # most are, and then nothing below can apply
                return data
            if not _needs_tags(data) and (ordered or not has_astral_key(data)):
                return data
    return _encode_tagged(value, ordered)


def _needs_tags(data: bytes) -> bool:
    return not is_normal(data) or (b"$" in data and _TAG_LIKE.search(data) is not None)


def _encode_tagged(value: object, ordered: bool) -> bytes:
    try:
        tagged = Tagger(ordered=ordered).tag(value)
    except TooDeep as refusal:
        raise explained(refusal, value).error() from None
    except Refusal as refusal:
        raise refusal.error() from refusal.__cause__
    return dump_tagged(tagged, ordered=ordered)


def dump_tagged(tagged: JsonValue, *, ordered: bool) -> bytes:
    """Tagged JSON as the bytes of a body."""
    data = dump(tagged, ordered=ordered)
    return data if ordered or not has_astral_key(data) else serialise(tagged, TAGGED_DEPTH_MAX).encode()
