"""Control logic that computes on and on: stopped after so much processor time without a step, and its place is named.

Processor time, not wall time: a verdict must not depend on the machine's load. Where the interpreter comes to run a handler,
control logic is halted there; where it does not, as in one endless call into C, the child is ended by a second timer that
leaves the stack behind.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import process_time  # before a guard replaces it: it is no input of control logic
from types import FrameType

from tachograph.core.replay import Step
from tachograph.replay_workers._frames import control_frame, is_standard
from tachograph.replay_workers._lent import Lent
from tachograph.replay_workers._session import Session

_LOOKS = 8
"""How often within the limit it is looked whether there was a step."""

_AGAIN_SECONDS = 0.01
"""Control logic that swallowed being halted is halted again so soon."""

_STACK_BYTES_MAX = 1 << 16
_STACK_LINE = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<name>.+)$', re.MULTILINE)
_ENGINE = str(Path(__file__).parent) + os.sep

_STEP_BYTES = 1 << 10
_FIRST = "before its first step"
REMEDY = "allow it more (`--cpu-seconds-max`), or put the work into a tool"


@contextmanager
def spin_limited(session: Session, words: LastWords | None = None) -> Generator[None]:
    """Halt control logic that takes no step for the unit's `cpu_seconds_max` of processor time.

    Only in a process's main thread, and where the system has such timers.

    Args:
        session: of the unit.
        words: of a process that is ended where no handler can halt it; None: nothing ends it.
    """
    limit = _Limit(session)
    before = signal.signal(signal.SIGPROF, limit.look)
    limit.start(words)
    try:
        yield
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL):
            signal.setitimer(timer, 0)
        signal.signal(signal.SIGPROF, before)
        if words is not None:
            faulthandler.unregister(signal.SIGVTALRM)


class _Limit:
    """Looks now and then whether control logic goes on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seconds = session.unit.cpu_seconds_max
        self._seen = (-1, -1)
        self._since = 0.0
        self._words: LastWords | None = None

    def start(self, words: LastWords | None) -> None:
        """Start the timers."""
        self._since = process_time()
        every = self._seconds / _LOOKS
        signal.setitimer(signal.ITIMER_PROF, every, every)
        if words is not None:
            self._words = words
            faulthandler.register(signal.SIGVTALRM, words.fd, all_threads=True, chain=True)
            self._postpone()

    def look(self, _signal: int, frame: FrameType | None) -> None:
        """Halt control logic if it took too long.

        Raises:
            Halt: it did.
        """
        seen, now = self._progress(), process_time()
        if seen != self._seen:
            self._seen, self._since = seen, now
            self._postpone()
        elif now - self._since >= self._seconds:
            self._stop(frame)

    def _progress(self) -> tuple[int, int]:
        """What changes with every step, and with every piece of a stream."""
        streams = tuple(self._session.streams.values())
        return sum(one.maker.made for one in streams), sum(one.latest_seq for one in streams)

    def _postpone(self) -> None:
        if self._words is not None:
            self._words.step(_behind(_latest(self._session)))
            signal.setitimer(signal.ITIMER_VIRTUAL, 2 * self._seconds)

    def _stop(self, frame: FrameType | None) -> None:
        if not self._session.schedule.halted:
            self._session.give_up(
                f"control logic was stopped after {self._seconds:g} seconds of processor time without a step, the most that "
                f"is allowed: {_sentence(_behind(_latest(self._session)), _place(frame))}"
            )
        signal.setitimer(signal.ITIMER_PROF, _AGAIN_SECONDS, _AGAIN_SECONDS)
        raise self._session.halt()


def _sentence(behind: str, place: str | None) -> str:
    where = f", it was at {place}" if place is not None else ""
    return f"{behind}{where}; if it may compute so long, {REMEDY}"


def _behind(latest: Step | None) -> str:
    if latest is None:
        return _FIRST
    return f"behind step {latest.number} of {latest.agent_id!r} ({latest.name or latest.kind})"


class LastWords:
    """What a process leaves behind that is ended: the step before, and its stack. One for all children of a process."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("last words") if hasattr(os, "memfd_create") else tempfile.mkstemp()[0]

    def clear(self) -> None:
        """Forget those of the child before."""
        os.ftruncate(self.fd, 0)
        os.lseek(self.fd, _STEP_BYTES, os.SEEK_SET)  # where faulthandler writes

    def step(self, text: str) -> None:
        """Put down the latest step."""
        os.pwrite(self.fd, text.encode()[:_STEP_BYTES].ljust(_STEP_BYTES), 0)

    def text(self) -> str:
        """What was left, in a sentence; empty if nothing."""
        data = os.pread(self.fd, _STACK_BYTES_MAX, 0)
        stack = data[_STEP_BYTES:].decode("utf-8", "replace")
        if not stack:
            return ""
        behind = data[:_STEP_BYTES].decode("utf-8", "ignore").strip("\0 ")
        behind = f"{behind} or a later one" if behind and behind != _FIRST else "at its beginning or later"
        return f"in one call that nothing could interrupt: {_sentence(behind, place_in_stack(stack))}"


def place_in_stack(text: str) -> str | None:
    """`file:line in function` of the innermost control logic in a stack that faulthandler wrote."""
    for found in _STACK_LINE.finditer(text):
        file = found["file"]
        if not file.startswith(("<", _ENGINE)) and not is_standard(file):
            return f"{file}:{found['line']} in {found['name']}()"
    return None


def _place(frame: FrameType | None) -> str | None:
    """Where control logic is: in this thread, else, or where this one waits for it, in another that runs any."""
    others = [one for one in sys._current_frames().values() if one is not frame]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] as threading's documentation has it
    for found in map(control_frame, [*others, frame] if _waits(frame) else [frame, *others]):
        if found is not None:
            return f"{found.f_code.co_filename}:{found.f_lineno} in {found.f_code.co_name}()"
    return None


def _waits(frame: FrameType | None) -> bool:
    """Whether a thread waits for a function in another one."""
    until = control_frame(frame)
    while frame is not None and frame is not until:
        if frame.f_globals.get("__name__") == Lent.__module__:
            return True
        frame = frame.f_back
    return False


def _latest(session: Session) -> Step | None:
    """The recorded step that was taken last."""
    taken = [
        stream.recorded.steps[stream.matcher.position - 1]
        for stream in tuple(session.streams.values())
        if stream.recorded is not None and stream.matcher is not None and stream.matcher.position > 0
    ]
    return max(taken, key=lambda step: step.hlc, default=None)
