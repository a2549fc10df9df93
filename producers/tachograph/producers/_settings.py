"""What a recorder is set to, parsed once into a frozen value; the only reader of the environment in this package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from tachograph.core.errors import InvalidSetting

OnBrokenLog = Literal["fail", "continue"]
"""What calls without an effect do once the log cannot be written: refuse, or go on unrecorded and be counted."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a recorder. Each can be given in the environment, see `from_environment`."""

    home: str = ".tacho"
    """Directory of the recordings; created when it is not there."""
    tenant: str = "default"
    """Owner of the runs."""
    redaction: str | None = None
    """Version of the redaction policy, as in `default/1`; None: the current default."""
    mailbox: str | None = None
    """Directory through which processes exchange messages; None: messages stay in this process."""
    on_broken_log: OnBrokenLog = "fail"
    """Effects are refused in either case."""
    fsync_interval_ms: int = 200
    """The longest that a recorded event waits for its fsync when nothing asks for it earlier."""
    queue_events_max: int = 50_000
    """Events that wait for the writer before callers are made to wait: about a second of its work."""
    queue_bytes_max: int = 64 * 1024 * 1024
    """The same in bytes of payload: what a recorder may hold in memory."""
    raw: bool = False
    """Keep what redaction takes out, sealed."""
    raw_keys: str | None = None
    """Directory of the tenants' keys; None: within the home."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            InvalidSetting: names the setting, its value and what it must be.
        """
        if self.on_broken_log not in get_args(OnBrokenLog):
            raise InvalidSetting("on_broken_log", self.on_broken_log, "it must be 'fail' or 'continue'")
        for name in ("fsync_interval_ms", "queue_events_max", "queue_bytes_max"):
            if getattr(self, name) < 1:
                raise InvalidSetting(name, getattr(self, name), "it must be at least 1")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """The settings that the environment names, the defaults for the rest.

        Read are TACHO_HOME, TACHO_TENANT, TACHO_REDACTION, TACHO_MAILBOX, TACHO_RAW, TACHO_RAW_KEYS, TACHO_ON_BROKEN_LOG
        and TACHO_FSYNC_INTERVAL_MS.

        Raises:
            InvalidSetting: a variable has a value that cannot be.
        """
        given = os.environ if environment is None else environment
        default = cls()
        return cls(
            home=given.get("TACHO_HOME") or default.home,
            tenant=given.get("TACHO_TENANT") or default.tenant,
            redaction=given.get("TACHO_REDACTION") or None,
            mailbox=given.get("TACHO_MAILBOX") or None,
            raw=_switch("TACHO_RAW", given),
            raw_keys=given.get("TACHO_RAW_KEYS") or None,
            on_broken_log=_policy(given.get("TACHO_ON_BROKEN_LOG") or default.on_broken_log),
            fsync_interval_ms=_whole("TACHO_FSYNC_INTERVAL_MS", given, default.fsync_interval_ms),
        )


def _policy(text: str) -> OnBrokenLog:
    if text == "fail":
        return "fail"
    if text == "continue":
        return "continue"
    raise InvalidSetting("TACHO_ON_BROKEN_LOG", text, "it must be 'fail' or 'continue'")


def _switch(name: str, given: Mapping[str, str]) -> bool:
    text = given.get(name) or "0"
    if text not in ("0", "1"):
        raise InvalidSetting(name, text, "it must be '0' or '1'")
    return text == "1"


def _whole(name: str, given: Mapping[str, str], default: int) -> int:
    text = given.get(name)
    if not text:
        return default
    try:
        return int(text)
    except ValueError as error:
        raise InvalidSetting(name, text, "it must be a whole number of milliseconds") from error
