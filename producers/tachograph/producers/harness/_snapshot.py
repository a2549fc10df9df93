"""A session at rest: everything that a new session needs to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tachograph.core.errors import InvalidSetting
from tachograph.producers.harness._ports import Message
from tachograph.producers.harness._shapes import as_items, as_mapping

_VERSION = 1


def _no_plugins() -> dict[str, Mapping[str, object]]:
    return {}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a session keeps."""

    session: str
    messages: Sequence[Message] = ()
    rounds: int = 0
    """Model answers so far."""
    assembly: str = ""
    """Digest of the assembly it ran with."""
    plugins: Mapping[str, Mapping[str, object]] = field(default_factory=_no_plugins)
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
        fields = as_mapping(plain)
        if fields is None or fields.get("version") != _VERSION:
            found = type(plain).__name__ if fields is None else fields.get("version")
            raise InvalidSetting("snapshot.version", found, f"this release reads version {_VERSION}")
        messages, plugins, rounds = (fields.get(name) for name in ("messages", "plugins", "rounds"))
        if as_items(messages) is None or as_mapping(plugins) is None or not isinstance(rounds, int):
            raise InvalidSetting(
                "snapshot", sorted(fields), "messages, plugins or rounds are missing; take another one"
            )
        return cls(
            session=str(fields.get("session")),
            messages=cast("Sequence[Message]", messages),
            rounds=rounds,
            assembly=str(fields.get("assembly", "")),
            plugins=cast("Mapping[str, Mapping[str, object]]", plugins),
        )
