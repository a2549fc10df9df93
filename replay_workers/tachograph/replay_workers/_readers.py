"""Several jobs: each reads, checks and compares in a process of its own, so that none waits for another's interpreter.

These are trusted processes with all that their parent has. Control logic never runs in them, but in the child that each of
them starts (`_process`).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import NoReturn, cast

from tachograph.core.errors import InternalError
from tachograph.core.ports import ReplayResult

_TASKS = Path("/proc/self/task")

Work = Callable[[str], ReplayResult]
"""Replays the run of an id."""


def may_fork() -> bool:
    """Whether this process is one that a fork copies whole: it has a single thread, libraries' own counted."""
    return _TASKS.is_dir() and sum(1 for _ in _TASKS.iterdir()) == 1


class Readers:
    """Forked processes that replay runs, as a context manager; none of them outlives this process.

    Args:
        count: of processes.
        serve: called in each of them, with a function that hands every run it is to replay to its argument.
    """

    def __init__(self, count: int, serve: Callable[[Callable[[Work], None]], None]) -> None:
        self._alive, self._held = os.pipe()
        self._ends: list[Connection] = []
        self._processes: list[int] = []
        try:
            for _ in range(count):
                self._start(serve)
        except BaseException:
            os.close(self._held)
            raise
        finally:
            os.close(self._alive)

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is not None:
            os.close(self._held)  # which ends them at once
        for end in self._ends:
            end.close()
        for process in self._processes:
            os.waitpid(process, 0)
        if kind is None:
            os.close(self._held)

    def results(self, run_ids: Sequence[str]) -> Iterator[ReplayResult]:
        """The results of runs, as they come.

        Raises:
            InternalError: one of the processes failed.
        """
        waiting = iter(run_ids)
        busy = [end for end, run_id in zip(self._ends, waiting, strict=False) if _sent(end, run_id)]
        while busy:
            for end in cast("list[Connection]", wait(busy)):
                yield _result(end)
                following = next(waiting, None)
                if following is None:
                    busy.remove(end)
                else:
                    _sent(end, following)

    def _start(self, serve: Callable[[Callable[[Work], None]], None]) -> None:
        near, far = Pipe()
        process = os.fork()
        if process == 0:
            for end in (*self._ends, near):
                end.close()  # or nobody would see its other end closed
            os.close(self._held)
            _serve(far, self._alive, serve)
        far.close()
        self._ends.append(near)
        self._processes.append(process)


def _sent(end: Connection, run_id: str) -> bool:
    end.send_bytes(run_id.encode())
    return True


def _result(end: Connection) -> ReplayResult:
    try:
        answer: object = end.recv()
    except (EOFError, OSError) as error:
        raise InternalError("a process that reads runs to replay them died") from error
    if isinstance(answer, ReplayResult):
        return answer
    raise InternalError(f"a process that reads runs to replay them failed: {answer}")


def _serve(end: Connection, alive: int, serve: Callable[[Callable[[Work], None]], None]) -> NoReturn:
    """In a forked process: replay what is asked for, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    try:
        serve(lambda work: _answer_all(end, work))
    except BaseException as error:  # noqa: BLE001 nothing may leave a forked process
        end.send(f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


def _end_with(alive: int) -> None:
    """End this process when its parent does, or lets go: what it started ends with it."""
    os.read(alive, 1)
    os._exit(1)


def _answer_all(end: Connection, work: Work) -> None:
    while True:
        try:
            run_id = end.recv_bytes().decode()
        except EOFError:
            return
        end.send(work(run_id))
