"""The replaying process: a fresh interpreter that forks one child for each attempt, before any thread exists.

A child gets a unit over a pipe and nothing else: no key, no log, an empty environment. What a module of control logic keeps
warm dies with it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from dataclasses import replace
from typing import cast

from tachograph.replay_workers._ahead import Ahead
from tachograph.replay_workers._attempt import attempt
from tachograph.replay_workers._lifeline import Lifeline
from tachograph.replay_workers._output import captured
from tachograph.replay_workers._pipe import ChildPipe, Parent
from tachograph.replay_workers._result_json import attempt_json, otherwise_of
from tachograph.replay_workers._spin import LastWords
from tachograph.replay_workers._unit import Unit
from tachograph.replay_workers._wire import Frame
from tachograph.replay_workers._wire_unit import unit_of

GO = b"g"
"""The parent asks for a child."""


def serve(read_fd: int, write_fd: int) -> None:
    """Fork a child whenever the parent asks for one, until it closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    pipe, ahead, words = ChildPipe(read_fd, write_fd), Ahead(), LastWords()
    _settle()
    while os.read(read_fd, 1) == GO:
        lifeline = Lifeline()
        words.clear()
        child = os.fork()
        if child == 0:
            _child(pipe, ahead, words)
        status = lifeline.wait(child, read_fd)
        pipe.send({"exit": os.waitstatus_to_exitcode(status), "words": words.text()})
        if ahead.learn():
            _settle()


def _settle() -> None:
    """Keep the collector from looking at, and thereby copying, what forks share; imports leave next to nothing to collect."""
    gc.freeze()


def _child(pipe: ChildPipe, ahead: Ahead, words: LastWords) -> None:
    code = 1
    try:
        result = _replayed(pipe, ahead, words)
        pipe.arrivals.complete()  # the next attempt's frames must not come behind what nobody looked at
        pipe.send({"result": result})
        ahead.told()
        code = 0
    except BaseException as error:  # noqa: BLE001 nothing may leave a forked child but its exit code
        pipe.send({"failed": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(code)


def _at_home(unit: Unit) -> Unit:
    """Work where the code lies: relative paths must not depend on where a replay was asked for."""
    code = tuple(os.path.abspath(directory) for directory in unit.code)
    os.chdir(next(filter(os.path.isdir, code), os.path.abspath(os.sep)))
    return replace(unit, code=code)


def _received(pipe: ChildPipe) -> tuple[Unit, dict[str, Frame]]:
    """What the parent sends first; it lives as long as this process, so the collector need not look at it."""
    gc.disable()
    header, blob = pipe.receive()
    unit = unit_of(header, blob, pipe.arrivals)
    extra = cast("dict[str, Frame]", header["extra"])
    del header, blob
    gc.freeze()
    gc.enable()
    return unit, extra


def _replayed(pipe: ChildPipe, ahead: Ahead, words: LastWords) -> Frame:
    unit, extra = _received(pipe)
    output = captured()
    unit = _at_home(unit)
    ahead.forget(unit.code)
    sys.argv = ["replay"]
    otherwise = otherwise_of(extra["otherwise"])
    if "fork" in extra:
        from tachograph.replay_workers._fork_attempt import forked
        from tachograph.replay_workers._fork_change import change_of

        return attempt_json(forked(unit, pipe, otherwise, change_of(extra["fork"]), output, words))
    return attempt_json(attempt(unit, Parent(pipe), otherwise, output, words))
