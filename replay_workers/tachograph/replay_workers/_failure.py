"""Exceptions as a recording describes them."""

from __future__ import annotations

MESSAGE_CHARACTERS_MAX = 16_384
"""As in a recording: longer messages are cut."""


def described_error(error: BaseException) -> tuple[str, str]:
    """(`module.qualified_name` of its class, its message)."""
    cls = type(error)
    return f"{cls.__module__}.{cls.__qualname__}", _message(error)


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001 an exception of a stranger may fail to describe itself
        return f"<str() of the exception raised {type(broken).__name__}>"
    return text if len(text) <= MESSAGE_CHARACTERS_MAX else text[:MESSAGE_CHARACTERS_MAX] + "…"
