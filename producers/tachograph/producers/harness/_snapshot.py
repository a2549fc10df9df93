"""A session at rest: everything that a new session needs to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tachograph.core.errors import InvalidSetting
from tachograph.producers.harness._ports import Message

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a session keeps."""

    session: str
    messages: Sequence[Message] = ()
    rounds: int = 0
    """Model answers so far."""
    assembly: str = ""
    """Digest of the assembly it ran with."""
    plugins: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By name: `{"version", "state"}`."""

    def to_plain(self) -> dict[str, object]:
        """Plain data, fit for a checkpoint or a file."""
        return {
            "version": _VERSION,
            "session": self.session,
            "messages": list(self.messages),
            "rounds": self.rounds,
            "assembly": self.assembly,
            "plugins": dict(self.plugins),
        }

    @classmethod
    def from_plain(cls, plain: object) -> Snapshot:
        """The inverse of `to_plain`.

        Raises:
            InvalidSetting: it is not a snapshot, or one of another version.
        """
        if not isinstance(plain, Mapping) or plain.get("version") != _VERSION:
            found = plain.get("version") if isinstance(plain, Mapping) else type(plain).__name__
            raise InvalidSetting("snapshot.version", found, f"this release reads version {_VERSION}")
        try:
            return cls(
                session=str(plain["session"]),
                messages=cast("Sequence[Message]", plain["messages"]),
                rounds=int(plain["rounds"]),
                assembly=str(plain["assembly"]),
                plugins=cast("Mapping[str, Mapping[str, object]]", plain["plugins"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidSetting("snapshot", sorted(plain), f"it has no usable {error}; take another one") from error
