"""The parent's end: starts a replaying process, hands it units, answers what it asks, and kills it at a limit."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from tachograph.core.errors import InternalError
from tachograph.replay_workers._exchange import PART_BYTES, Exchange
from tachograph.replay_workers._wire import Frame, frame
from tachograph.replay_workers._zygote import GO

_START_SECONDS_MAX = 60.0
_SERVE = """
import gc, sys
gc.disable()  # what is imported stays
from tachograph.replay_workers._zygote import serve
serve(int(sys.argv[1]), int(sys.argv[2]))
"""

Answer = Callable[[Frame], Frame]
"""A child's question to its answer."""


class ProcessLost(Exception):
    """The replaying process did not bring a result."""


class ReplayProcess:
    """A fresh interpreter that forks a child per attempt; used by one thread, as a context manager."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._read_fd = self._write_fd = -1

    def __enter__(self) -> ReplayProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, if it is not there, without waiting until it is ready."""
        if self._process is None:
            self._start()

    def run(self, frames: Iterable[bytes], answer: Answer, seconds_max: float) -> Frame:
        """Replay one unit.

        Args:
            frames: of a unit; the child drives while the later ones are made. What making them raises comes out of here.
            answer: answers what the child asks.
            seconds_max: wall time, after which the process and all it started are killed.

        Raises:
            ProcessLost: it took too long, or control logic ended the process.
        """
        self.start()
        exchange = Exchange(self._read_fd, self._write_fd, time.monotonic() + seconds_max)
        try:
            return self._conversation(exchange, frames, answer)
        except TimeoutError:
            self.close()
            raise ProcessLost(f"it took longer than {seconds_max:g} seconds") from None
        except (EOFError, OSError) as error:
            self.close()
            raise ProcessLost("the replaying process died") from error
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        """Kill the process and everything it started; from any thread."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill the process and everything it started, and forget it."""
        self.kill()
        process, self._process = self._process, None
        if process is None:
            return
        process.wait()
        os.close(self._read_fd)
        os.close(self._write_fd)

    def _conversation(self, exchange: Exchange, frames: Iterable[bytes], answer: Answer) -> Frame:
        heard = _Heard()
        exchange.send(GO)
        for data in frames:
            exchange.send(data)
            while not heard.over and exchange.is_readable():
                self._hear(heard, exchange, answer)
            if heard.over:
                break
        while not heard.over:
            self._hear(heard, exchange, answer)
        if heard.result is not None:
            return heard.result
        if heard.failed is not None:
            raise InternalError(f"the replaying process failed: {heard.failed}")
        if heard.words:
            raise ProcessLost(f"control logic took too much processor time without a step, {heard.words}")
        raise ProcessLost(f"control logic ended its process with {_exit(heard.exit)}")

    def _hear(self, heard: _Heard, exchange: Exchange, answer: Answer) -> None:
        header = exchange.read()
        if "ask" in header:
            exchange.send(frame(answer(header)))
        elif "result" in header:
            heard.result = cast("Frame", header["result"])
        elif "failed" in header:
            heard.failed = cast("str", header["failed"])
        else:
            heard.exit, heard.words = cast("int", header["exit"]), cast("str", header["words"])
            heard.over = True

    def _start(self) -> None:
        to_child, self._write_fd = os.pipe()
        self._read_fd, from_child = os.pipe()
        try:
            self._process = subprocess.Popen(  # our own interpreter, our own module
                # Not -I: it would switch off PYTHONHASHSEED. The environment is our own, so nothing else comes in by it.
                [sys.executable, "-s", "-P", *_byte_code(), "-c", _SERVE, str(to_child), str(from_child)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None,
                env=_environment(),
                pass_fds=(to_child, from_child),
                start_new_session=True,
            )
        finally:
            os.close(to_child)
            os.close(from_child)
        os.set_blocking(self._write_fd, False)
        os.set_blocking(self._read_fd, False)
        _widen(self._write_fd)


@dataclass(slots=True)
class _Heard:
    """What a child has said."""

    result: Frame | None = None
    failed: str | None = None
    exit: int = 0
    words: str = ""
    """What it left behind where it was ended for computing too long."""
    over: bool = False
    """Whether it has ended."""


def _widen(pipe: int) -> None:
    """Let a pipe hold a whole part: with 64 KiB at a time, the two processes would wait for each other at every step."""
    with contextlib.suppress(AttributeError, OSError):  # not on every system, and not beyond a user's share
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PART_BYTES)


def _byte_code() -> list[str]:
    """Where this process has its byte code from, if not from beside the sources: the child need not compile them again."""
    return ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []


def _environment() -> dict[str, str]:
    """The child's environment: the same for everybody, so that a verdict does not depend on it."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TZ") if name in os.environ}
    return kept | {
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
    }


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return f"signal {signal.Signals(-code).name}"


def asked_bytes(question: Frame) -> bytes:
    """What a question for a digest is about."""
    return base64.b64decode(cast("str", question["data"]))


def digest_answer(digest: bytes) -> Frame:
    """The answer to a question for a digest."""
    return {"digest": base64.b64encode(digest).decode()}
