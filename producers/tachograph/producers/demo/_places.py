"""Where a fleet finds the outside: what its entry points get as their argument."""

from __future__ import annotations

from typing import TypedDict


class Places(TypedDict):
    """The addresses of the real parts, as plain data."""

    database: str
    """Path of the SQLite file."""
    service_port: int
    mail_port: int
    seed: int
    """What the scripted model is varied by."""
