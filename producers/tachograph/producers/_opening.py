"""Opening a run without an entry point function of its own: `async with recorder.run(…)`, or `with`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType

from tachograph.core.boundary import Run, controlled, controlled_async, ending
from tachograph.core.errors import SpoolUnwritable
from tachograph.producers._entry import NotStated
from tachograph.producers._tape import RecordingTape
from tachograph.producers._unit import Unit

_LOG = logging.getLogger("tachograph.producers")


class Started:
    """A unit that has started, and must end durably."""

    __slots__ = ("_tape", "_unit")

    def __init__(self, unit: Unit, tape: RecordingTape) -> None:
        self._unit = unit
        self._tape = tape

    @property
    def tape(self) -> RecordingTape:
        """The unit's own tape."""
        return self._tape

    def end(self, error: BaseException | None, value: object = None) -> None:
        """End the unit; what was recorded of it is durable then.

        Raises:
            SpoolUnwritable: it is not; not raised where `error` is on its way already.
        """
        ticket = self._unit.close(self._tape, ending(error, value))
        try:
            self._unit.journal.finish(ticket)
        except SpoolUnwritable as broken:
            if error is None:
                raise
            _LOG.error("tachograph: run %s is not recorded to its end: %s", self._unit.run_id, broken)

    async def end_async(self, error: BaseException | None, value: object = None) -> None:
        """`end` without blocking the event loop.

        Raises:
            SpoolUnwritable: it is not durable; not raised where `error` is on its way already.
        """
        ticket = self._unit.close(self._tape, ending(error, value))
        try:
            await self._unit.journal.finish_async(ticket)
        except SpoolUnwritable as broken:
            if error is None:
                raise
            _LOG.error("tachograph: run %s is not recorded to its end: %s", self._unit.run_id, broken)
        except asyncio.CancelledError:
            if error is None:
                raise


class RunOpening:
    """A run about to start; nothing is recorded before the `with`."""

    def __init__(self, start: Callable[[], Started]) -> None:
        self._start = start
        self._started: Started | None = None
        self._control = ExitStack()

    def __enter__(self) -> Run:
        self._started = self._start()
        self._control.enter_context(controlled(self._started.tape))
        return Run(self._started.tape)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._control.close()
        if self._started is not None:
            self._started.end(error, NotStated())

    async def __aenter__(self) -> Run:
        self._started = self._start()
        self._control.enter_context(controlled_async(self._started.tape))
        return Run(self._started.tape)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._control.close()
        if self._started is not None:
            await self._started.end_async(error, NotStated())
