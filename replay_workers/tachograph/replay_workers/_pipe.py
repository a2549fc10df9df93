"""The child's end of the pipe."""

from __future__ import annotations

import base64
import os
import threading
from typing import cast

from tachograph.core.boundary import RunContext
from tachograph.core.redaction import Digests
from tachograph.replay_workers._arrivals import Arrivals
from tachograph.replay_workers._places import StreamKey
from tachograph.replay_workers._wire import Frame, frame, read_frame


class ChildPipe:
    """Frames to and from the parent; frames with a unit's steps come whenever there are some."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._lock = threading.RLock()
        self.arrivals = Arrivals(self._take_steps)

    def receive(self) -> tuple[Frame, bytes]:
        """The next frame that is not of steps."""
        while True:
            header, blob = read_frame(self._exactly)
            if "block" not in header:
                return header, blob
            self.arrivals.take(header, blob)

    def send(self, header: Frame) -> None:
        """Send a frame."""
        data = memoryview(frame(header))
        while data:
            data = data[os.write(self._write_fd, data) :]

    def ask(self, question: Frame) -> Frame:
        """Ask the parent."""
        with self._lock:
            self.send(question)
            return self.receive()[0]

    def _take_steps(self) -> None:
        with self._lock:
            self.arrivals.take(*read_frame(self._exactly))

    def _exactly(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            part = os.read(self._read_fd, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


class Parent:
    """What the child asks its parent for, and remembers."""

    def __init__(self, pipe: ChildPipe) -> None:
        self._pipe = pipe
        self._digests: dict[bytes, bytes] = {}

    @property
    def tokens(self) -> Digests:
        """Keyed digests: the key stays with the parent."""
        return self

    def digest(self, data: bytes) -> bytes:
        """The digest of a value that is redacted."""
        known = self._digests.get(data)
        if known is None:
            answer = self._pipe.ask({"ask": "digest", "data": base64.b64encode(data).decode()})
            known = self._digests[data] = base64.b64decode(cast("str", answer["digest"]))
        return known

    def head(self, stream: StreamKey, seq: int) -> RunContext:
        """The context that an agent handed on when its latest event was `seq`."""
        answer = self._pipe.ask({"ask": "head", "agent": stream[0], "incarnation": stream[1], "seq": seq})
        return RunContext.from_text(cast("str", answer["context"]))
