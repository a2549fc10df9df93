"""`tacho demo`: the incident that every fleet has once, told in six steps, each of them checked."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeGuard

from tachograph.control._answer import Answer
from tachograph.control._demo_servers import demo_on_servers
from tachograph.control._demo_steps import SIGNATURE, Step, answer_of
from tachograph.control._homes import LoadedRun, load_run
from tachograph.control._parser import Commands, add_command
from tachograph.control._progress import progress
from tachograph.control._screen import Span
from tachograph.control._services import demo_service, fork_service, replay_service, report_service
from tachograph.control._settings import Settings
from tachograph.core.ports import DemoResult, ForkOptions, ForkResult, ReplayOptions, ReplayResult
from tachograph.core.replay import VerdictStatus
from tachograph.core.state import signatures
from tachograph.schemas import EffectState, EffectTransitioned, Event
from tachograph.stores import Home

REFUSAL = "ReconciliationRequired"
MAILS = 2


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", "record an incident in a fleet of four agents, replay it, fork it", _demo)
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="seed of the scripted model (default: 7)")
    parser.add_argument(
        "--servers", action="store_true", help="through Kafka, S3 and Redis, started for this and ended"
    )
    parser.add_argument("--report", metavar="DIR", help="where the report goes (default: HOME/reports/RUN)")


def _demo(arguments: argparse.Namespace, settings: Settings) -> Answer:
    if arguments.servers:
        return demo_on_servers(arguments, settings)
    with progress("demo") as shown:
        recorded = demo_service()(settings.home, int(arguments.seed), shown)
        home = Home.open(settings.home)
        run = load_run(home, recorded.run_id)
        replayed = replay_service()(settings.home, [recorded.run_id], ReplayOptions(), 1, shown)[0]
        fork = fork_service()(settings.home, recorded.run_id, ForkOptions(entrypoints=recorded.fixed_entrypoints))
        directory = Path(arguments.report or settings.home / "reports" / recorded.run_id)
        files = report_service()(settings.home, replayed, directory)
    steps = (
        _recorded(recorded, run),
        _unknown(run),
        _signature(run),
        _replayed(replayed),
        _forked(fork),
        _reported(files["html"]),
    )
    return answer_of(recorded.run_id, steps, settings.home)


def _recorded(recorded: DemoResult, run: LoadedRun) -> Step:
    agents = sorted({event.meta.agent_id for event in run.events} - {"run"})
    told = (
        f"{len(agents)} agents in two processes ({', '.join(agents)}) handled one refund: ",
        f"{len(run.events)} events. ",
        Span(f"The customer got {recorded.mails_received} mails instead of one.", "bad"),
    )
    return Step("Record the fleet", told, recorded.mails_received == MAILS, f"{recorded.mails_received} mails")


def _unknown(run: LoadedRun) -> Step:
    unknown = [event.effect_id for event in run.events if _became_unknown(event)]
    names = ", ".join(unknown)
    told = (
        "The mail server took the first mail, then the connection dropped. ",
        "Nobody can know from here whether it went out, so the ledger says ",
        Span("UNKNOWN", "bad"),
        f": {names}.",
    )
    return Step("Look at the effect", told, len(unknown) == 1, names or "no UNKNOWN effect")


def _became_unknown(event: Event) -> TypeGuard[EffectTransitioned]:
    return isinstance(event, EffectTransitioned) and event.to_state is EffectState.UNKNOWN


def _signature(run: LoadedRun) -> Step:
    names = [hit.name for hit in signatures(run.state)]
    told = ("The agent took the error for a failure and sent again. This kind of incident has a name: ",
            Span(SIGNATURE, "bad"), ".")  # fmt: skip
    return Step("Name the incident", told, SIGNATURE in names, ", ".join(names) or "no signature")


def _replayed(result: ReplayResult) -> Step:
    verdict = result.verdict
    live = sum(verdict.live.values())
    served = sum(verdict.served.values())
    told = (
        "The same control logic, answered from the recording: ",
        Span("REPRODUCED", "good"),
        f", {verdict.steps_replayed} of {verdict.steps_recorded} steps, {served} answers served, {live} sent out.",
    )
    holds = verdict.status is VerdictStatus.REPRODUCED and live == 0
    return Step("Replay it exactly", told, holds, f"{verdict.status.value}, {live} live calls")


def _forked(fork: ForkResult) -> Step:
    told = (
        "The same recording with the mended control logic, which keeps one idempotency key per ticket: it stops in ",
        Span(REFUSAL, "good"),
        " instead of mailing twice. Nothing was sent here either.",
    )
    holds = REFUSAL in fork.ended and not sum(fork.verdict.live.values())
    return Step("Fork it with the fix", told, holds, f"ended in {fork.ended}")


def _reported(path: Path) -> Step:
    told = ("Everything above on one page: ", Span(str(path), "link"))
    return Step("Read the report", told, path.is_file(), str(path))
