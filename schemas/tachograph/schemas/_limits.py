"""How much foreign bytes may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reader of foreign bytes refuses to go beyond.

    Only arrays and JSON nest or grow by a number that a few bytes can state; how deep events nest is fixed by their
    schemas, and no text or bytes can be longer than the payload they lie in.
    """

    payload_bytes_max: int = 16 << 20
    """One event: a body of 4 GiB names its chunks in 8 MiB."""
    items_max: int = 1 << 18
    """Items in one array: the chunks of that body."""
    header_bytes_max: int = 4 << 20
    """A container's header: all schemas take 100 KiB, the manifest is text."""
    depth_max: int = 64
    """How deep the JSON in a container's header nests; a schema of ours nests 14 deep."""
    block_bytes_max: int = 64 << 20
    """One block of a container, decompressed: a few of the largest events."""
    objects_bytes_max: int = 1 << 30
    """All objects of a container: they are held in memory."""
    decompressed_bytes_max: int = 4 << 30
    """All blocks of a container, decompressed."""


DEFAULT_LIMITS = Limits()
"""What is used where nothing else is said."""
