"""`tacho demo --servers`: the same incident through Kafka, S3 and Redis, read by a machine that recorded nothing.

Every step is a command that anybody could type, in a process of its own: only the settings differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tachograph.control._answer import Answer
from tachograph.control._demo_steps import SIGNATURE, Step, answer_of
from tachograph.control._errors import DemoStopped
from tachograph.control._progress import progress
from tachograph.control._screen import Span
from tachograph.control._settings import Settings
from tachograph.control.dev import DevServers, down, up
from tachograph.core.ports import Progress

_PATIENCE_SECONDS = 120.0
"""How long the processors may take for one run, on a machine that does ten other things."""

_LOOK_SECONDS = 1.0

_STEPS = 9


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered."""

    code: int
    result: Mapping[str, object]
    error: str

    def rows(self, name: str) -> list[dict[str, object]]:
        """A list of its result."""
        return cast("list[dict[str, object]]", self.result.get(name, []))

    def part(self, name: str) -> Mapping[str, object]:
        """An object of its result."""
        return cast("Mapping[str, object]", self.result.get(name, {}))


def demo_on_servers(arguments: argparse.Namespace, settings: Settings) -> Answer:
    """Start the servers, tell the story, end them."""
    directory = settings.home / "dev"
    try:
        with progress("demo") as shown:
            return _told(settings, up(directory, progress=shown), shown, int(arguments.seed))
    finally:
        down(directory)


def _told(settings: Settings, servers: DevServers, shown: Progress, seed: int) -> Answer:
    writer, reader = settings.home / "writer", settings.home / "reader"
    here = _Tacho(writer, {"TACHO_DIGEST_KEY_FILE": servers.settings["TACHO_DIGEST_KEY_FILE"]})
    there = _Tacho(reader, {"TACHO_CONFIG": str(servers.config)})
    sender = _Tacho(writer, {"TACHO_CONFIG": str(servers.config)})
    shown(1, _STEPS, "topics")
    _must(sender("topics", "ensure"))
    with _processors(sender):
        shown(2, _STEPS, "the fleet is recorded")
        recorded = _must(here("demo", "--seed", str(seed)))
        run_id = str(recorded.result["run_id"])
        shown(3, _STEPS, "events are shipped")
        shipped = _must(sender("ship"))
        shown(4, _STEPS, "the archive and the catalogue fill")
        row = _arrived(there, {str(row["run_id"]) for row in here("runs").rows("runs")}).get(run_id, {})
    # Processors that end in good order leave nothing unarchived.
    steps = (_recorded(recorded), _shipped(shipped, servers), _catalogued(row), *_proved(there, run_id, shown))
    return answer_of(run_id, steps, reader, f"TACHO_CONFIG={servers.config} ")


class _Tacho:
    """The command line, in a process with settings of its own."""

    def __init__(self, home: Path, settings: Mapping[str, str]) -> None:
        self._home = home
        self._settings = settings

    def command(self, *words: str) -> list[str]:
        """What to run."""
        settings = [f"{name}={value}" for name, value in self._settings.items()]
        return ["env", *settings, sys.executable, "-m", "tachograph.control", "--home", str(self._home), *words]

    def __call__(self, *words: str) -> Said:
        """Run a command to its end."""
        done = subprocess.run(self.command(*words, "--json"), capture_output=True, text=True, check=False)
        try:
            document = json.loads(done.stdout)
        except json.JSONDecodeError:
            return Said(done.returncode, {}, done.stderr.strip())
        return Said(done.returncode, document.get("result", {}), done.stderr.strip())


@contextmanager
def _processors(tacho: _Tacho) -> Generator[None]:
    """The stream processors, ended in good order."""
    with subprocess.Popen(
        tacho.command("process", "all"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as started:
        try:
            yield
        finally:
            started.terminate()
            try:
                started.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                started.kill()


def _must(said: Said) -> Said:
    """The answer of a command without which the story cannot go on."""
    if said.code != 0:
        raise DemoStopped(said.error)
    return said


def _arrived(there: _Tacho, run_ids: set[str]) -> Mapping[str, Mapping[str, object]]:
    """Rows of the runs, once all of them are whole in the catalogue, or patience is at its end."""
    waited = 0.0
    while True:
        rows = {str(row["run_id"]): row for row in there("runs").rows("runs") if row["status"] == "FINISHED"}
        if run_ids <= rows.keys() or waited > _PATIENCE_SECONDS:
            return rows
        threading.Event().wait(_LOOK_SECONDS)
        waited += _LOOK_SECONDS


def _recorded(recorded: Said) -> Step:
    steps = recorded.rows("steps")
    told = (
        "Four agents in two processes handled one refund; the connection dropped at the wrong moment. The customer has ",
        Span("two mails", "bad"),
        ".",
    )
    return Step("Record the fleet", told, all(bool(step["holds"]) for step in steps), json.dumps(steps))


def _shipped(shipped: Said, servers: DevServers) -> Step:
    events = shipped.result.get("events")
    told = (
        f"{events} events went from the spools to Kafka at {servers.settings['TACHO_KAFKA_BOOTSTRAP']}, bodies to S3 first. ",
        "Nothing is left in the spools that is not acknowledged.",
    )
    holds = shipped.result.get("waiting_bytes") == 0 and shipped.result.get("stuck") == 0 and bool(events)
    return Step("Ship it", told, holds, json.dumps(dict(shipped.result)))


def _catalogued(row: Mapping[str, object]) -> Step:
    names = cast("list[str]", row.get("signatures", []))
    told = (
        "On a machine that recorded nothing, the catalogue in Redis says: ",
        Span(f"{row.get('unknown_effects')} effect UNKNOWN", "bad"),
        ", and by name: ",
        Span(SIGNATURE, "bad"),
        ".",
    )
    holds = SIGNATURE in names and row.get("unknown_effects") == 1
    return Step("Find it in the catalogue", told, holds, json.dumps(dict(row)) if row else "the run never came")


def _proved(there: _Tacho, run_id: str, shown: Progress) -> Sequence[Step]:
    shown(5, _STEPS, "the archive is verified")
    verified = there("verify", run_id)
    shown(6, _STEPS, "the state at a cut")
    state = there("state", run_id, "--at", "mailer:2")
    shown(7, _STEPS, "the run is replayed from the archive")
    replayed = there("replay", run_id)
    shown(8, _STEPS, "the catalogue is compared with the archive")
    rebuilt = there("rebuild", "--check")
    return _verified(verified), _cut(state), _replayed(replayed), _compared(rebuilt)


def _verified(verified: Said) -> Step:
    told = (
        f"Read back from S3: {verified.result.get('events')} events, every hash, cause and body: ",
        Span("whole", "good"),
        ".",
    )
    return Step("Verify the archive", told, verified.code == 0, json.dumps(dict(verified.result)))


def _cut(state: Said) -> Step:
    cut = state.part("cut")
    streams = len(cast("list[object]", cut.get("positions", [])))
    told = (
        f"What the whole fleet was when the mailer took its second step: {cut.get('events')} events of {streams} streams, a ",
        Span("closed cut", "good"),
        f" with {cut.get('causes_checked')} causes checked.",
    )
    return Step("Stop the fleet at a moment", told, cut.get("closed") is True, json.dumps(dict(cut)))


def _replayed(replayed: Said) -> Step:
    summary = replayed.part("summary")
    told = ("The same control logic, answered from the archive: ", Span("REPRODUCED", "good"), ", 0 sent out.")
    holds = summary.get("reproduced") == 1 and summary.get("live_calls") == 0
    return Step("Replay it exactly", told, holds, json.dumps(dict(summary)) or replayed.error)


def _compared(rebuilt: Said) -> Step:
    told = (
        f"{rebuilt.result.get('runs')} runs and {rebuilt.result.get('effects')} effects folded anew from the archive: ",
        Span("the same", "good"),
        " as in Redis.",
    )
    return Step("Compare catalogue and archive", told, rebuilt.code == 0, json.dumps(dict(rebuilt.result)))
