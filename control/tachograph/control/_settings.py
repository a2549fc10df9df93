"""What the environment and the common options decide, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tachograph.core.errors import InvalidSetting

HOME_DEFAULT = ".tacho"
"""Below the working directory."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one invocation."""

    home: Path
    """Where runs are recorded: `--home`, else `TACHO_HOME`, else `./.tacho`."""
    json: bool = False
    """Print one JSON document."""
    debug: bool = False
    """Show tracebacks."""
    colour: bool = False
    """Standard output is a terminal and `NO_COLOR` is not set."""
    raw_keys: Path | None = None
    """Directory of the tenants' keys, `TACHO_RAW_KEYS`; None: that of the home."""


def settings_of(
    home: str | None, environment: Mapping[str, str], *, json: bool, debug: bool, terminal: bool
) -> Settings:
    """Decide the settings from options and environment.

    Raises:
        InvalidSetting: `--home` names nothing, as an unset variable in a script does.
    """
    if home == "":
        raise InvalidSetting("--home", home, "name a directory, or leave the option out for TACHO_HOME or ./.tacho")
    chosen = home or environment.get("TACHO_HOME") or HOME_DEFAULT
    keys = environment.get("TACHO_RAW_KEYS")
    colour = terminal and not environment.get("NO_COLOR")
    return Settings(Path(chosen), json, debug, colour=colour, raw_keys=Path(keys) if keys else None)
