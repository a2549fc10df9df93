"""Time and chance of the development servers: the only place that reads them."""

from __future__ import annotations

import base64
import secrets
import time


def seconds() -> float:
    """A clock that only measures."""
    return time.monotonic()


def pause(length: float) -> None:
    """Wait so many seconds."""
    time.sleep(length)


def fresh_secret() -> str:
    """A password: 160 unguessable bits."""
    return secrets.token_hex(20)


def fresh_key() -> bytes:
    """A digest key."""
    return secrets.token_bytes(32)


def fresh_uuid() -> str:
    """An id of a Kafka cluster or directory: 16 bytes in base64url, as Kafka's `random-uuid` writes them; never a leading dash."""
    return base64.urlsafe_b64encode(b"\x40" + secrets.token_bytes(15)).decode().rstrip("=")


def anywhere(count: int) -> int:
    """A number below `count`."""
    return secrets.randbelow(count)
