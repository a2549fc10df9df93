"""Stream processors: `archive`, `fold` and `insights`, each a room of its own; `process` runs them."""

from tachograph.stream_processors._health import StatusAddress
from tachograph.stream_processors._service import process

__all__ = ["StatusAddress", "process"]
