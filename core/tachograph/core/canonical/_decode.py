"""The bytes of a body as Python values."""

from __future__ import annotations

from typing import cast

import orjson

from tachograph.core.canonical._json import JsonValue
from tachograph.core.canonical._untag import MALFORMED, CodecFailed, UnknownTag, untag
from tachograph.core.errors import UnreadableBody


def decode_body(data: bytes) -> object:
    """A fresh Python value, types as they were; the inverse of `encode_body`.

    Raises:
        UnreadableBody: the bytes are not JSON, or hold a tag or a codec's name that is not known here.
    """
    try:
        value = cast("JsonValue", orjson.loads(data))
    except orjson.JSONDecodeError as error:
        raise UnreadableBody(f"it is not JSON ({error})") from error
    return _untagged(value) if b"$" in data and b'"$' in data else value


def _untagged(value: JsonValue) -> object:
    try:
        return untag(value)
    except (UnknownTag, CodecFailed) as error:
        raise UnreadableBody(str(error)) from error
    except RecursionError as error:
        raise UnreadableBody("it is nested too deeply") from error
    except MALFORMED as error:
        raise UnreadableBody(f"a typed value in it is malformed ({type(error).__name__}: {error})") from error
