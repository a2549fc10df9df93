"""The current agent, per task and thread: what adapters use to find the boundary they record at."""

from __future__ import annotations

from contextvars import ContextVar, Token

from tachograph.core.boundary._door import Door

_current: ContextVar[Door | None] = ContextVar("tachograph_agent", default=None)


def current_agent() -> Door | None:
    """The agent whose control logic is running here, if any."""
    return _current.get()


def entered(agent: Door) -> Token[Door | None]:
    """Make an agent the current one."""
    return _current.set(agent)


def left(token: Token[Door | None]) -> None:
    """Make the agent before it current again; a no-op where the context has changed (an agent closed elsewhere)."""
    try:
        _current.reset(token)
    except ValueError:
        _current.set(None)
