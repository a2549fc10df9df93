"""The digest of a run's application state, as RunFinished carries it: what a fold of the run must come to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from tachograph.core.state._model import RunState
from tachograph.schemas import RunFinished

StreamValues = tuple[str, int, Mapping[str, bytes]]
"""(agent_id, incarnation, digest of each value by its key)."""

_DOMAIN = b"tachograph application state 1\0"
_EIGHT_BYTES = 8


def values_digest(streams: Iterable[StreamValues]) -> bytes:
    """The digest of what some streams have set with `set_state`, 32 bytes.

    SHA-256 over every length-prefixed (agent, incarnation, key, digest of the value), sorted: in which order they were
    set, and how often, does not matter. The digests of values are keyed already, so that this one needs no key.
    """
    hashed = hashlib.sha256(_DOMAIN)
    for agent_id, incarnation, key, digest in _sorted(streams):
        for part in (agent_id.encode(), str(incarnation).encode(), key.encode(), digest):
            hashed.update(len(part).to_bytes(_EIGHT_BYTES, "big"))
            hashed.update(part)
    return hashed.digest()


def state_digest(state: RunState, finished: RunFinished) -> bytes:
    """What RunFinished's `state_digest` must be, from the folded state of its run.

    It covers the streams that the event closes: its own and those of its causes, all in the process that started the run.
    """
    meta = finished.meta
    closed = {(meta.agent_id, meta.incarnation), *((cause.agent_id, cause.incarnation) for cause in meta.causes)}
    return values_digest(
        (*key, {name: body.digest for name, body in agent.values.items()})
        for key, agent in state.agents.items()
        if key in closed
    )


def _sorted(streams: Iterable[StreamValues]) -> list[tuple[str, int, str, bytes]]:
    return sorted((agent, life, key, digest) for agent, life, values in streams for key, digest in values.items())
