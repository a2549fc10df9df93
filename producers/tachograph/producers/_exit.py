"""The interpreter's exit: what is still waiting is written, and the log is sealed."""

from __future__ import annotations

import atexit
import logging
import weakref
from typing import Protocol

from tachograph.core.errors import SpoolUnwritable

_LOG = logging.getLogger("tachograph.producers")


class Closable(Protocol):
    """Something that must be closed before the interpreter ends."""

    def close(self) -> None:
        """May raise SpoolUnwritable."""
        ...


def close_at_exit(resource: Closable) -> None:
    """Close the resource at the interpreter's exit, if it is still alive then."""
    atexit.register(_close, weakref.ref(resource))


def _close(reference: weakref.ref[Closable]) -> None:
    living = reference()
    if living is None:
        return
    try:
        living.close()
    except SpoolUnwritable as error:
        _LOG.error("tachograph: not everything is recorded: %s", error)
