"""`tacho signatures`: which kinds of failure the recorded runs show, how often and since when."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tachograph.control._answer import Answer, Document
from tachograph.control._homes import open_home, short_ids
from tachograph.control._parser import Commands, add_command
from tachograph.control._screen import Part, Screen, Span
from tachograph.control._settings import Settings
from tachograph.core.errors import InvalidSetting
from tachograph.stores import RunRow

_HOUR_US = 3_600_000_000
_HOURS_SHOWN = 24
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Seen:
    """A signature over many runs."""

    name: str
    runs: tuple[RunRow, ...]
    """Those that show it, oldest first."""

    @property
    def hours(self) -> list[tuple[int, int]]:
        """(start of the hour in microseconds since 1970, runs that began in it), oldest first."""
        return sorted(Counter(run.started_at_us // _HOUR_US * _HOUR_US for run in self.runs).items())

    @property
    def tenants(self) -> list[str]:
        """Whose runs they are, sorted."""
        return sorted({run.tenant for run in self.runs})


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "signatures", "list the kinds of failure that recorded runs show", _signatures)
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this one, with its runs")


def _signatures(arguments: argparse.Namespace, settings: Settings) -> Answer:
    every = open_home(settings).catalogue.runs()
    seen = seen_in(every)
    if arguments.name is not None:
        name = str(arguments.name)
        seen = [one for one in seen if one.name == name]
        if not seen:
            shown = ", ".join(one.name for one in seen_in(every)) or "none"
            raise InvalidSetting("NAME", name, f"no run here shows it; shown are: {shown}")
    short = short_ids([run.run_id for run in every])
    newest = max((run.started_at_us for run in every), default=0)
    return Answer(
        {"signatures": [_document(one) for one in seen]},
        lambda screen: _render(screen, seen, newest, short, with_runs=arguments.name is not None),
    )


def seen_in(runs: Sequence[RunRow]) -> list[Seen]:
    """The signatures of runs, the most frequent first."""
    found: dict[str, list[RunRow]] = {}
    for run in runs:
        for name in run.signatures:
            found.setdefault(name, []).append(run)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Seen(name, tuple(sorted(rows, key=lambda run: (run.started_at_us, run.run_id)))) for name, rows in ordered]


def _document(seen: Seen) -> Document:
    return {
        "name": seen.name,
        "runs": len(seen.runs),
        "run_ids": [run.run_id for run in seen.runs],
        "first_us": seen.runs[0].started_at_us,
        "last_us": seen.runs[-1].started_at_us,
        "tenants": seen.tenants,
        "hours": [{"hour_us": hour, "runs": count} for hour, count in seen.hours],
    }


def _render(screen: Screen, seen: Sequence[Seen], newest: int, short: dict[str, str], *, with_runs: bool) -> None:
    if not seen:
        screen.line("No run shows a signature.")
        return
    rows: list[list[Part]] = [
        [Span(one.name, "bad"), str(len(one.runs)), _time(one.runs[0]), _time(one.runs[-1]), _bars(one, newest)]
        for one in seen
    ]
    screen.table(["SIGNATURE", "RUNS", "FIRST", "LAST", f"LAST {_HOURS_SHOWN} HOURS"], rows)
    if with_runs:
        screen.line()
        listed: list[list[Part]] = [
            [Span(short[run.run_id], "bold"), run.name, _time(run)] for one in seen for run in one.runs
        ]
        screen.table(["RUN", "NAME", "STARTED"], listed)


def _time(run: RunRow) -> str:
    return datetime.fromtimestamp(run.started_at_us / 1_000_000, UTC).isoformat(" ", "seconds").removesuffix("+00:00")


def _bars(seen: Seen, newest: int) -> str:
    """One bar for each hour up to that of the newest run."""
    counts = dict(seen.hours)
    last = newest // _HOUR_US * _HOUR_US
    columns = [counts.get(last - (_HOURS_SHOWN - 1 - at) * _HOUR_US, 0) for at in range(_HOURS_SHOWN)]
    highest = max(*columns, 1)
    return "".join("·" if count == 0 else _BARS[(count * len(_BARS) - 1) // highest] for count in columns)
