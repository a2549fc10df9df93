"""Results that cannot be recorded, said once for each tool and class: a replay will miss them."""

from __future__ import annotations

import logging

from tachograph.core.errors import UnserialisableValue

_LOG = logging.getLogger("tachograph.producers")
_SAID_MAX = 1_000
"""So many pairs of tool and class are said; a program with more of them has been told often enough."""

_said: set[tuple[str, str]] = set()


def warn_once(name: str, value: object, error: Exception) -> None:
    """Say that what came back from a tool is not recorded, why, and what to do; nothing of the value is said.

    Args:
        name: of the tool.
        value: what came back.
        error: why it cannot be recorded.
    """
    if isinstance(error, UnserialisableValue):
        kind, reason = error.type_name, error.reason
    else:
        kind, reason = type(value).__qualname__, f"its codec raised {type(error).__name__}"
    if (name, kind) in _said or len(_said) >= _SAID_MAX:
        return
    _said.add((name, kind))
    _LOG.warning(
        "tachograph: what %s returned is not recorded, and replays will stop there: %s: %s; "
        "return plain data, a dataclass or a model, or call tachograph.core.canonical.register_codec",
        name,
        kind,
        reason,
    )
