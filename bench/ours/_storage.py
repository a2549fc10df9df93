"""Bytes on disk for a conversation that grows call by call, against the bytes of what is new in it."""

from __future__ import annotations

import random

from bench._measure import Subject, fresh_directory
from bench._payload import text
from tachograph.producers import Recorder

_CALLS = 100
_MESSAGE_BYTES = 4_000
"""Two messages a call: 800,000 bytes at the end, about 200,000 tokens."""


def growing_conversation() -> Subject:
    """Bytes that the home grew by."""
    return lambda _: {"bytes": float(_stored())}


def new_content() -> Subject:
    """Bytes of the messages themselves, each once."""
    return lambda _: {"bytes": float(_CALLS * 2 * _MESSAGE_BYTES)}


def _stored() -> int:
    home = fresh_directory() / "home"
    rng = random.Random(11)
    recorder = Recorder(home)
    messages: list[dict[str, str]] = []

    def model(**request: object) -> dict[str, object]:
        return {"role": "assistant", "content": text(rng, _MESSAGE_BYTES)}

    with recorder.run("conversation") as run, run.agent("assistant") as agent:
        for _ in range(_CALLS):
            messages.append({"role": "user", "content": text(rng, _MESSAGE_BYTES)})
            answer = agent.model(model, model="bench", messages=messages)
            messages.append(answer)  # type: ignore[arg-type]
    recorder.close()
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
