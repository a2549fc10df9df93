"""What control logic prints: kept to a limit, apart from the protocol."""

from __future__ import annotations

import io
import os
import sys

OUTPUT_CHARACTERS_MAX = 64 * 1024
"""The last so many are kept."""


class Tail(io.TextIOBase):
    """A text stream that remembers its end."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._parts.append(text)
        self._size += len(text)
        if self._size > 2 * OUTPUT_CHARACTERS_MAX:
            self._parts = [self.text()]
            self._size = len(self._parts[0])
        return len(text)

    def text(self) -> str:
        """The last of what was written."""
        return "".join(self._parts)[-OUTPUT_CHARACTERS_MAX:]


def captured() -> Tail:
    """Send what is printed from now on into a tail; what goes past Python goes nowhere."""
    tail = Tail()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    sys.stdout = sys.stderr = tail
    return tail
