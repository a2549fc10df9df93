"""What a replay asks its parent for."""

from __future__ import annotations

from typing import Protocol

from tachograph.core.boundary import RunContext
from tachograph.core.redaction import Digests
from tachograph.replay_workers._places import StreamKey


class Outside(Protocol):
    """What a replay asks its parent for; it holds no key and no log."""

    @property
    def tokens(self) -> Digests:
        """Digests for redaction tokens."""
        ...

    def head(self, stream: StreamKey, seq: int) -> RunContext:
        """The context that an agent handed on when its latest event was `seq`."""
        ...
