"""Exceptions on their way into events."""

from __future__ import annotations

from tachograph.core.canonical import encode_body
from tachograph.producers._entry import ErrorDraft

MESSAGE_CHARACTERS_MAX = 16_384
"""Longer messages are cut: they are for people."""


def error_draft(error: BaseException) -> ErrorDraft:
    """What can be recorded of an exception; never raises."""
    cls = type(error)
    bases = tuple(_name(base) for base in cls.__mro__[1:] if base not in (BaseException, object))
    return ErrorDraft(_name(cls), bases, _message(error), _arguments(error))


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001 an exception of a stranger may fail to describe itself
        return f"<str() of the exception raised {type(broken).__name__}>"
    return text if len(text) <= MESSAGE_CHARACTERS_MAX else text[:MESSAGE_CHARACTERS_MAX] + "…"


def _arguments(error: BaseException) -> bytes | None:
    try:
        return encode_body(list(error.args))
    except Exception:  # noqa: BLE001 a stranger's codec may fail in any way; the message is there in any case
        return None
