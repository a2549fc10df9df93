"""A client of Kafka belongs to the process that made it: its threads are not in a forked child."""

from __future__ import annotations

import ctypes
import os

from tachograph.core.errors import AgentMisuse


class Owner:
    """The process that made a client."""

    __slots__ = ("_process",)

    def __init__(self) -> None:
        self._process = os.getpid()

    def check(self) -> None:
        """Return in the process that made the client.

        Raises:
            AgentMisuse: this is a forked child of it.
        """
        if os.getpid() != self._process:
            raise AgentMisuse("kafka", "the client was made before this process was forked", "Make one in the child.")


def never_destroyed(client: object) -> None:
    """Keep a client for ever: destroying it in a forked child would wait for threads that are not there."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
