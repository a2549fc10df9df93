"""How a step's name and key are made; recording and replay both make them here, so that they can be compared."""

from __future__ import annotations

import re
from hashlib import sha256

import orjson

from tachograph.core.replay._values import Step, StepKind
from tachograph.schemas import CallKind, EndOutcome

END = "end"
"""Name of a stream's last step."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{5,}")
"""Memory addresses in an exception's text differ from process to process and mean nothing."""


def payload_key(payload: bytes) -> bytes:
    """The key of a payload: equal for equal bytes. Plain SHA-256, so that no tenant key goes into a replaying child."""
    return sha256(payload).digest()


class StepMaker:
    """Makes the steps of one stream, numbered as they come."""

    __slots__ = ("_agent_id", "_incarnation", "made")

    def __init__(self, agent_id: str, incarnation: int) -> None:
        self._agent_id = agent_id
        self._incarnation = incarnation
        self.made = 0
        """How many steps there are so far."""

    def call(
        self, kind: CallKind, name: str, arguments: bytes, version: str | None = None, *, like: Step | None = None
    ) -> Step:
        """A call goes out with these arguments; `receive` is kind `messages` with `null`.

        Args:
            kind: of the call.
            name: of what is called.
            arguments: a body's bytes.
            version: of what is called.
            like: a step that may have the same arguments: its key then need not be made again.
        """
        self.made += 1
        key = like.key if like is not None and like.arguments == arguments else payload_key(arguments)
        return Step(self._agent_id, self._incarnation, self.made, kind, name, key, arguments, version)

    def send(self, to_agent_id: str, message: bytes, where: str | None = None) -> Step:
        """A message goes out."""
        return self._plain("send", to_agent_id, message, where)

    def state(self, key: str, value: bytes, where: str | None = None) -> Step:
        """A key of the application state is set."""
        return self._plain("state", key, value, where)

    def checkpoint(self, name: str, state: bytes, where: str | None = None) -> Step:
        """A point is named."""
        return self._plain("checkpoint", name, state, where)

    def artifact(self, name: str, media_type: str, content: bytes, where: str | None = None) -> Step:
        """A document is produced; its media type stands as the version."""
        return self._plain("artifact", name, content, where, version=media_type)

    def opened(self, agent_id: str, role: str, where: str | None = None) -> Step:
        """A child agent is opened; its id is the full one, as its stream carries it."""
        return self._plain("agent", agent_id, orjson.dumps({"role": role}), where)

    def ended(self, outcome: EndOutcome, result: bytes | None, error: tuple[str, str] | None = None) -> Step:
        """Control logic ended: with a result (a body's bytes), or with an error's (type, message)."""
        payload = _ending(outcome, result, error)
        self.made += 1
        return Step(
            self._agent_id,
            self._incarnation,
            self.made,
            "end",
            END,
            payload_key(payload),
            payload,
            outcome=outcome,
            result=result,
            error_type=error[0] if error is not None else None,
        )

    def _plain(
        self,
        kind: StepKind,
        name: str,
        payload: bytes,
        where: str | None,
        version: str | None = None,
    ) -> Step:
        self.made += 1
        return Step(
            self._agent_id,
            self._incarnation,
            self.made,
            kind,
            name,
            payload_key(payload),
            payload,
            version,
            where=where,
        )


def _ending(outcome: EndOutcome, result: bytes | None, error: tuple[str, str] | None) -> bytes:
    if error is None:
        return b'{"outcome":"%s","result":%s}' % (outcome.encode(), result if result is not None else b"null")
    kind, message = error
    failure = orjson.dumps({"message": _ADDRESS.sub("0x…", message), "type": kind})
    return b'{"error":%s,"outcome":"%s"}' % (failure, outcome.encode())
