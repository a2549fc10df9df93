"""Where control logic runs, and where what it calls does: timers of the one are recorded, those of the other are not."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from tachograph.core.boundary._context import current_agent

if TYPE_CHECKING:
    from tachograph.core.boundary._tape import Tape


class Waiting:
    """A call that is out: what it sets timers for is not control logic."""

    yields: int = 0
    """As in `Delivery.yields`."""
    heard: int | None = None
    """The turn in which it heard of its cancellation."""
    came_in: int = -1
    """The latest turn in which one of its timers fired."""
    rank: int = 0
    """How many timers of control logic fired in that turn before it."""
    own: int = 0
    """The turns that it took, where these may be what places it."""


_control: ContextVar[Tape | Waiting | None] = ContextVar("tachograph_control", default=None)
"""The unit's own tape where control logic runs; a call in what it calls; None outside of any unit."""

_CALLED = Waiting()
"""Any call that does not wait."""


@contextmanager
def controlled(tape: Tape) -> Generator[None]:
    """What runs within is control logic of this tape's unit."""
    token = _control.set(tape)
    try:
        yield
    finally:
        try:
            _control.reset(token)
        except ValueError:  # closed in another context than it was opened in
            _control.set(None)


@contextmanager
def controlled_async(tape: Tape) -> Generator[None]:
    """The same on an event loop, whose turns are counted from here on."""
    tape.turns.start()
    with controlled(tape):
        yield


def control_tape() -> Tape | None:
    """The tape of the agent whose control logic runs here; None where none does."""
    top = _control.get()
    if top is None or isinstance(top, Waiting):
        return None
    agent = current_agent()
    return agent._tape if agent is not None else top  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] the door and its tape are one thing


class Outside:
    """Within this, what runs is not control logic: a tool, a model client, a transport."""

    __slots__ = ("_call", "_token")

    def __init__(self, call: Waiting | None = None) -> None:
        self._call = call

    def __enter__(self) -> None:
        self._token = _control.set(self._call)

    def __exit__(self, *exception: object) -> None:
        try:
            _control.reset(self._token)
        except ValueError:  # closed in another context than it was opened in
            _control.set(None)


def called_outside(function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
    """Call what is not control logic."""
    token = _control.set(_CALLED)
    try:
        return function(*args, **kwargs)
    finally:
        _control.reset(token)


def waiting_call() -> Waiting | None:
    """The call that what runs here belongs to."""
    call = _control.get()
    return call if isinstance(call, Waiting) else None
