"""An effect that is UNKNOWN in one home and decided from another: the key is free, or confirmed, in both."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tachograph.core.boundary import Run
from tachograph.core.effects import Ledger
from tachograph.core.errors import EffectAlreadyConfirmed, ReconciliationRequired
from tachograph.producers import Recorder, tool
from tachograph.schemas import EffectState
from tachograph.stores import Home
from tachograph.stores._past_beside import PastBeside
from tachograph.stores.backend import RedisSettings, Secret
from tachograph.stores.redis import RedisCatalogue


@tool(effect="write", idempotency_key=lambda to: to)
def mail(to: str) -> None:
    """Send a mail; nobody learns whether it went."""
    raise ConnectionResetError(to)


def _mails(run: Run) -> None:
    with run.agent("a") as agent, pytest.raises(ConnectionResetError):
        agent.call(mail, "bob")


def _two_homes(directory: Path) -> tuple[Home, Home, str]:
    with Recorder(directory / "here") as recorder:
        recorder.record(_mails)
    shutil.copytree(directory / "here", directory / "there")
    here, there = Home.open(directory / "here"), Home.open(directory / "there")
    (effect,) = here.catalogue.effects()
    assert effect.state is EffectState.UNKNOWN
    return here, there, effect.effect_id


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("own", [False, True], ids=["past", "own"])
def test_a_decision_elsewhere_counts(tmp_path: Path, *, happened: bool, own: bool) -> None:
    """Whether the asker comes later or did it itself: what happened is refused as confirmed, what did not is free."""
    here, there, effect_id = _two_homes(tmp_path)
    ledger = Ledger("default", PastBeside(here.own_catalogue, (), there.own_catalogue))
    if own:
        ledger.moved(effect_id, "mail", "bob", EffectState.UNKNOWN)
    with pytest.raises(ReconciliationRequired):
        ledger.admit("mail", "bob")
    with Recorder(there.path) as recorder:
        recorder.reconcile(effect_id, happened, "asked the server", "ann")
    if not happened:
        return ledger.admit("mail", "bob")
    with pytest.raises(EffectAlreadyConfirmed):
        ledger.admit("mail", "bob")
    return None


def test_who_cannot_be_asked_has_decided_nothing(tmp_path: Path) -> None:
    """The effect stays refused, and no other error takes the place of that."""
    here, _, _ = _two_homes(tmp_path)
    far = RedisCatalogue(RedisSettings(Secret("redis://127.0.0.1:1/0")), "default")
    with pytest.raises(ReconciliationRequired):
        Ledger("default", PastBeside(here.own_catalogue, (), far)).admit("mail", "bob")
