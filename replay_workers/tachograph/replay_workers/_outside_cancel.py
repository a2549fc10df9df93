"""Whoever awaits a unit may cancel it: a time-out around the recorder, a web server, Ctrl-C."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from tachograph.core.replay import Step
from tachograph.schemas import EndOutcome

if TYPE_CHECKING:
    from tachograph.replay_workers._loop import VirtualLoop
    from tachograph.replay_workers._unit import Unit


class OutsideCancel:
    """Cancels a unit's main task once, where nothing that was recorded explains what comes next.

    All that control logic and its timers can bring about has happened by then, so that only the outside is left.
    """

    def __init__(self) -> None:
        self.main: asyncio.Task[object] | None = None
        """The task that the unit's entry point runs in; None: it cannot be broken off."""
        self.is_known = True
        """False in a fork: there the recording says no longer what the outside did."""
        self.ends: Callable[[], bool] = lambda: False
        """Whether the recorded unit ends cancelled."""
        self.is_on_course: Callable[[], bool] = lambda: True
        """Whether every step so far was as recorded."""

    def breaks_off(self, loop: VirtualLoop, *, due_to_end: bool = True, last: bool = False) -> bool:
        """Cancel the unit in the turn that begins, if the outside did so here.

        Args:
            loop: where nothing is ready.
            due_to_end: whether the recording has anything more.
            last: nothing else can happen: the unit may have swallowed the cancellation and ended otherwise.
        """
        main = self.main
        if not self.is_known or main is None or main.done() or main.get_loop() is not loop or not due_to_end:
            return False
        if not (last or self.ends()) or not self.is_on_course():
            return False
        if not last and any(timer.stream is None for timer in loop.timers()):
            return False  # a function in another thread is still to come back
        self.main = None
        loop.wake(main.cancel)
        return True


def ends_cancelled(unit: Unit) -> bool:
    """Whether the recorded unit ends cancelled."""
    own = next((one for one in unit.streams if (one.agent_id, one.incarnation) == unit.key), None)
    return own is not None and bool(own.steps) and own.steps[-1].outcome == EndOutcome.CANCELLED


def is_interrupted(expected: Step | None, step: Step) -> bool:
    """Whether the recording ends here in a Ctrl-C, and the replay would go on."""
    if expected is None or expected.error_type != "builtins.KeyboardInterrupt":
        return False
    return expected.kind == "end" and step.kind != "end"
