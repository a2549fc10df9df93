"""The parent's end of the pipes to a replaying process: it sends without waiting until anybody reads, up to a deadline."""

from __future__ import annotations

import os
import select
import time
from collections import deque

from tachograph.replay_workers._wire import Frame, read_frame

PART_BYTES = 1 << 20


class Exchange:
    """Frames to and from a child.

    Args:
        read_fd: does not block.
        write_fd: does not block.
        deadline: of the monotonic clock; behind it waiting raises TimeoutError.
    """

    def __init__(self, read_fd: int, write_fd: int, deadline: float) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._deadline = deadline
        self._unsent: deque[memoryview] = deque()
        self._readable = select.poll()
        self._readable.register(read_fd, select.POLLIN)
        self._either = select.poll()
        self._either.register(read_fd, select.POLLIN)
        self._either.register(write_fd, select.POLLOUT)

    def send(self, data: bytes) -> None:
        """Send bytes: as many as the pipe takes now, the rest whenever this waits for something to read."""
        self._unsent.append(memoryview(data))
        self._push()

    def is_readable(self) -> bool:
        """Whether the child has said something."""
        return bool(self._readable.poll(0))

    def read(self) -> Frame:
        """The next frame.

        Raises:
            TimeoutError: it took too long.
            EOFError: the child's end is closed.
        """
        return read_frame(self._exactly)[0]

    def _exactly(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            try:
                part = os.read(self._read_fd, min(count, PART_BYTES))
            except BlockingIOError:
                self._wait()
                continue
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _push(self) -> None:
        unsent = self._unsent
        while unsent:
            left = unsent[0]
            try:
                written = os.write(self._write_fd, left[:PART_BYTES])
            except BlockingIOError:
                return
            if written == len(left):
                unsent.popleft()
            else:
                unsent[0] = left[written:]

    def _wait(self) -> None:
        """Wait until there is something to read, and send meanwhile."""
        self._push()
        poll = self._either if self._unsent else self._readable
        milliseconds = max(0.0, self._deadline - time.monotonic()) * 1000
        if not poll.poll(milliseconds):
            raise TimeoutError
