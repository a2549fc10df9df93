"""`tacho doctor`: what this installation and this home can do."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tachograph.control._answer import Answer, Document
from tachograph.control._exit import ExitCode
from tachograph.control._integrity import lag_sentence, unlisted
from tachograph.control._parser import Commands, add_command
from tachograph.control._screen import Part, Screen, Span
from tachograph.control._services import NAMES, load
from tachograph.control._settings import Settings
from tachograph.core.errors import TachographError
from tachograph.stores import Home, UnionCatalogue

FREE_BYTES_MIN = 1 << 30
"""A fleet at a few thousand events per second fills this in about ten minutes."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def register(commands: Commands) -> None:
    """Add the command."""
    add_command(commands, "doctor", "check the installation and the home", _doctor)


def _doctor(arguments: argparse.Namespace, settings: Settings) -> Answer:
    del arguments
    checks = [_python(), _terminal(), *map(_service, NAMES), *_home_checks(settings.home)]
    document: dict[str, Document] = {
        "checks": [{"name": c.name, "ok": c.ok, "found": c.found, "remedy": c.remedy} for c in checks]
    }
    code = ExitCode.OK if all(check.ok for check in checks) else ExitCode.LIMITED
    return Answer(document, lambda screen: _render(screen, checks), code)


def _python() -> Check:
    return Check("python", sys.version_info >= (3, 11), sys.version.split()[0], "install Python 3.11 or newer")


def _terminal() -> Check:
    found = find_spec("rich") is not None
    return Check("progress bars", found, "rich" if found else "none", "pip install 'tachograph[control]'")


def _service(name: str) -> Check:
    return _checked(f"service {name}", lambda: _loaded(name))


def _loaded(name: str) -> str:
    load(name)
    return "loads"


def _home_checks(path: Path) -> list[Check]:
    opened = _checked("home", lambda: f"{Home.open(path).path}")
    if not opened.ok:
        return [opened]
    return [opened, _log(path), *_catalogue(Home.open(path)), _writable(path), _space(path)]


def _catalogue(home: Home) -> list[Check]:
    """Whether a catalogue that others fill lacks runs that are archived."""
    if not isinstance(home.catalogue, UnionCatalogue) or not home.catalogue.may_lag:
        return []
    try:
        listed = home.catalogue.run_ids()
    except TachographError as error:
        return [Check("catalogue", ok=False, found="not usable", remedy=str(error))]
    lacking = unlisted(home, listed)
    found = f"{len(listed)} runs" + (f", {lacking} archived ones are not in it" if lacking else "")
    return [Check("catalogue", not lacking, found, lag_sentence(lacking, len(listed)))]


def _log(path: Path) -> Check:
    return _checked("log", lambda: _log_facts(Home.open(path)))


def _log_facts(home: Home) -> str:
    tails = len(home.log.torn_tails())
    torn = f", {tails} torn tails (see `tacho verify`)" if tails else ""
    return f"{len(home.log.run_ids())} runs in {len(home.log.spools())} spools{torn}"


def _writable(path: Path) -> Check:
    return Check("home writable", os.access(path, os.W_OK), str(path), "give this user write access")


def _space(path: Path) -> Check:
    free = shutil.disk_usage(path).free
    return Check("disk", free >= FREE_BYTES_MIN, f"{free / 1e9:.1f} GB free", "free space: effects wait for the log")


def _checked(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, ok=True, found=look())
    except TachographError as error:
        return Check(name, ok=False, found="not usable", remedy=str(error))


def _render(screen: Screen, checks: Sequence[Check]) -> None:
    rows: list[list[Part]] = [
        [Span("ok", "good") if check.ok else Span("no", "bad"), check.name, check.found] for check in checks
    ]
    screen.table(["", "CHECK", "FOUND"], rows)
    for check in checks:
        if not check.ok:
            screen.wrapped((Span(check.name, "bold"), f": {check.remedy}"), indent=0)
