"""Exceptions on their way into a fork's events."""

from __future__ import annotations

from typing import cast

from tachograph.core.canonical import encode_body
from tachograph.replay_workers._failure import described_error
from tachograph.replay_workers._fork_draft import Failure
from tachograph.replay_workers._fork_session import ForkSession


def failure_of(session: ForkSession, error: BaseException) -> Failure:
    """What is recorded of an exception; never raises."""
    name, message = described_error(error)
    bases = tuple(
        f"{base.__module__}.{base.__qualname__}"
        for base in type(error).__mro__[1:]
        if base not in (BaseException, object)
    )
    arguments = _arguments(error)
    return Failure(name, bases, session.clean(message), session.redacted(arguments) if arguments is not None else None)


def _arguments(error: BaseException) -> bytes | None:
    arguments = list(error.args)
    attributes = {name: value for name, value in _attributes(error).items() if _written(value) is not None}
    return _written({"args": arguments, "attributes": attributes} if attributes else arguments)


def _attributes(error: BaseException) -> dict[str, object]:
    found = getattr(error, "__dict__", None)
    return dict(cast("dict[str, object]", found)) if isinstance(found, dict) else {}


def _written(value: object) -> bytes | None:
    try:
        return encode_body(value)
    except Exception:  # noqa: BLE001 a stranger's codec may fail in any way
        return None
