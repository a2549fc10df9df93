"""Exceptions on their way into events."""

from __future__ import annotations

import sys
from typing import cast

from tachograph.core.canonical import encode_body
from tachograph.producers._entry import ErrorDraft
from tachograph.producers._entrypoint import MAIN_NAMES, importable_name

MESSAGE_CHARACTERS_MAX = 16_384
"""Longer messages are cut: they are for people."""


def error_draft(error: BaseException) -> ErrorDraft:
    """What can be recorded of an exception; never raises."""
    cls = type(error)
    bases = tuple(_name(base) for base in cls.__mro__[1:] if base not in (BaseException, object))
    return ErrorDraft(_name(cls), bases, _message(error), _arguments(error))


def _name(cls: type) -> str:
    module = cls.__module__
    if module in MAIN_NAMES:  # another process knows it by its importable name
        module = importable_name(sys.modules[module]) or module
    return f"{module}.{cls.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001 an exception of a stranger may fail to describe itself
        return f"<str() of the exception raised {type(broken).__name__}>"
    return text if len(text) <= MESSAGE_CHARACTERS_MAX else text[:MESSAGE_CHARACTERS_MAX] + "…"


def _arguments(error: BaseException) -> bytes | None:
    """The exception's `args`; `{"args": […], "attributes": {…}}` where it has attributes that control logic may read."""
    arguments = list(error.args)
    attributes = {name: value for name, value in _attributes(error).items() if _is_recordable(value)}
    try:
        return encode_body({"args": arguments, "attributes": attributes} if attributes else arguments)
    except Exception:  # noqa: BLE001 a stranger's codec may fail in any way; the message is there in any case
        return None


def _attributes(error: BaseException) -> dict[str, object]:
    found = getattr(error, "__dict__", None)
    return dict(cast("dict[str, object]", found)) if isinstance(found, dict) else {}


def _is_recordable(value: object) -> bool:
    try:
        encode_body(value)
    except Exception:  # noqa: BLE001 what cannot be recorded is left out, whatever a stranger's codec raises
        return False
    return True
