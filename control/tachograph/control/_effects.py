"""`tacho effects` and `tacho reconcile`: the ledger of what was done to the outside world."""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Sequence

from tachograph.control._answer import Answer, Document
from tachograph.control._homes import open_home, resolve_run
from tachograph.control._parser import Commands, add_command
from tachograph.control._screen import Part, Screen, Span, Style
from tachograph.control._services import reconcile_service
from tachograph.control._settings import Settings
from tachograph.core.errors import InvalidSetting
from tachograph.schemas import EffectState
from tachograph.stores import EffectRow

_STYLE: dict[EffectState, Style] = {
    EffectState.UNKNOWN: "bad",
    EffectState.CONFIRMED: "good",
    EffectState.FAILED: "warn",
    EffectState.RECONCILED: "good",
}


def register(commands: Commands) -> None:
    """Add the commands."""
    listing = add_command(commands, "effects", "list effects and where each stands in the ledger", _effects)
    listing.add_argument("run", nargs="?", metavar="RUN", help="only this run's")
    listing.add_argument("--state", choices=[state.value for state in EffectState], help="only effects in this state")
    deciding = add_command(commands, "reconcile", "decide an UNKNOWN effect", _reconcile)
    deciding.add_argument("effect", metavar="EFFECT", help="effect id, as `tacho effects` lists it")
    deciding.add_argument(
        "--as", dest="decided", choices=("confirmed", "failed"), required=True, help="it happened, or it did not"
    )
    deciding.add_argument("--reason", required=True, metavar="TEXT", help="how you know")
    deciding.add_argument("--by", metavar="NAME", help="who decides (default: the user of this machine)")


def _effects(arguments: argparse.Namespace, settings: Settings) -> Answer:
    home = open_home(settings)
    run_id = None if arguments.run is None else resolve_run(home, str(arguments.run))
    found = [effect for effect in home.catalogue.effects(run_id) if arguments.state in (None, effect.state)]
    return Answer({"effects": [effect_document(effect) for effect in found]}, lambda screen: _render(screen, found))


def effect_document(effect: EffectRow) -> Document:
    """An effect, as in `docs/cli.md`."""
    return {
        "effect_id": effect.effect_id,
        "run_id": effect.run_id,
        "agent": effect.agent_id,
        "name": effect.name,
        "idempotency_key": effect.idempotency_key,
        "state": effect.state.value,
        "at_us": effect.at_us,
        "reason": effect.reason,
        "by": effect.by,
    }


def effect_rows(effects: Sequence[EffectRow]) -> list[list[Part]]:
    """Effects as the rows of a table."""
    return [
        [Span(effect.state.value, _STYLE.get(effect.state, "plain")), effect.name, effect.idempotency_key or "",
         effect.effect_id]
        for effect in effects
    ]  # fmt: skip


def _render(screen: Screen, effects: Sequence[EffectRow]) -> None:
    if not effects:
        screen.line("No effects.")
        return
    screen.table(["STATE", "EFFECT", "KEY", "EVENT"], effect_rows(effects))
    if any(effect.state is EffectState.UNKNOWN for effect in effects):
        screen.line("Find out what happened, then: tacho reconcile EVENT --as confirmed|failed --reason TEXT")


def _reconcile(arguments: argparse.Namespace, settings: Settings) -> Answer:
    effect, reason = str(arguments.effect), str(arguments.reason).strip()
    decided = str(arguments.decided)
    if not reason:
        raise InvalidSetting("--reason", reason, "say how you know: the ledger keeps it")
    by = str(arguments.by or getpass.getuser())
    open_home(settings)
    reconcile_service()(settings.home, effect, decided == "confirmed", reason, by)
    document: dict[str, Document] = {"effect_id": effect, "decided": decided, "reason": reason, "by": by}
    return Answer(document, lambda screen: screen.line(Span("RECONCILED", "good"), f"  {effect}: {decided}, by {by}"))
