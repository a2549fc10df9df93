"""What tests of removing spools share: homes whose spools are acknowledged and archived, and what must hold of them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from archived import record_of, records_of
from services import fresh_backend
from tachograph.core.effects import Ledger
from tachograph.core.errors import EffectAlreadyConfirmed, ReconciliationRequired
from tachograph.producers import Recorder, Run, tool
from tachograph.producers._sources import SystemSources
from tachograph.producers.shipper._sweep import sweep
from tachograph.stores import Home, rebuild, verify_home
from tachograph.stores.archive import write_segment
from tachograph.stores.backend import Backend, KafkaSettings
from tachograph.stores.s3 import Bucket, S3Objects
from tachograph.stores.shipping import BEGINNING, Mark, Shipment, SpoolFollower

TOPIC: Final = "tacho.events"


def _key(to: str) -> str:
    return to


@tool(effect="write", idempotency_key=_key)
def mail(to: str) -> str:
    """Send a mail: to bob nobody learns whether it went, with carl the process dies on the way."""
    if to == "bob":
        raise ConnectionResetError(to)
    if to == "carl":
        os._exit(9)
    return to


@tool(effect="write")
def post(to: str) -> str:
    """An effect without a key."""
    return to


def servers(directory: Path) -> Backend:
    """A real S3 store; Kafka is named, and nobody asks it. Spools may go at once."""
    backend = fresh_backend(directory, "s3")
    return replace(backend, kafka=KafkaSettings("127.0.0.1:1"), digest_key_file=None, spool_keep_hours=0.0)


def environment(backend: Backend) -> dict[str, str]:
    """The S3 store, as a deployment names it."""
    assert backend.s3 is not None
    return {
        "TACHO_S3_URL": backend.s3.url,
        "TACHO_S3_BUCKET": backend.s3.bucket,
        "TACHO_S3_ACCESS_KEY": backend.s3.access_key,
        "TACHO_S3_SECRET_KEY": backend.s3.secret_key.text,
    }


def mails(run: Run, to: str) -> None:
    """One run: a call with a large body, an effect without a key, one with."""
    with run.agent("a") as agent:
        agent.call(len, "".join(map(str, range(20_000))))
        agent.call(post, to)
        try:
            agent.call(mail, to)
        except ConnectionResetError:
            agent.set_state("mailed", value=False)


def recorded(home: Path) -> None:
    """Two closed spools and one of a process that died with an effect on its way, each with a run of its own."""
    for to in ("ann", "bob"):
        with Recorder(home) as recorder:
            recorder.record(mails, to)
    child = os.fork()
    if child == 0:
        Recorder(home).record(mails, "carl")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def acknowledged(home: Path, topic: str = TOPIC) -> None:
    """Every spool is marked as a shipper marks it that is done with it."""
    for spool in Home.open(home, backend=Backend()).log.spools():
        follower, position, events = SpoolFollower(spool.path), BEGINNING, 0
        while True:
            batch = follower.read(position, 1 << 20)
            position, events = batch.end, events + len(batch.payloads)
            if batch.is_last:
                break
        bodies = (spool.path / "bodies").stat().st_size
        shipment = Shipment(spool.path, topic)
        assert shipment.open()
        shipment.save(Mark(position, bodies, events, is_done=batch.is_over))
        shipment.close()


def archived(home: Path, backend: Backend, *, skip: int = 0, moves_on: bool = True) -> None:
    """What the shipper and the archive do: bodies, then events, but for the first ones; then the log moves on."""
    assert backend.s3 is not None
    near, bucket = Home.open(home, backend=Backend()), Bucket(backend.s3)
    objects = S3Objects(bucket, "default")
    for key in near.objects.keys():  # noqa: SIM118 it is no mapping
        objects.put(key, near.objects.get(key) or b"")
    payloads = [stored.payload for run_id in near.log.run_ids() for stored in near.log.read_run(run_id)]
    records = records_of(payloads[skip:])
    for start in range(0, len(records), 20):
        write_segment(bucket, "default", TOPIC, 0, records[start : start + 20])
    if moves_on:
        write_segment(bucket, "default", TOPIC, 0, [record_of(_later(home), 1_000_000)])


class _Later(SystemSources):
    """A machine's clock, two hours later."""

    def now_us(self) -> int:
        return super().now_us() + 7_200_000_000


def _later(home: Path) -> bytes:
    """The first event of a run that another machine recorded two hours later."""
    beside = home.with_name(f"{home.name}-later")
    if not beside.exists():
        shutil.copytree(home / "keys", beside / "keys")
        with Recorder(beside, sources=_Later()) as recorder, recorder.run("later"):
            pass
    log = Home.open(beside, backend=Backend()).log
    return next(iter(log.read_run(log.run_ids()[0]))).payload


def swept(home: Path, backend: Backend) -> int:
    """A pass over the home; how many spools went."""
    return max((step.removed for step in sweep(home, backend)), default=0)


def spools(home: Path) -> list[str]:
    """Names of those that are there."""
    return [spool.name for spool in Home.open(home, backend=Backend()).log.spools()]


def looked_at(home: Path, backend: Backend) -> tuple[object, ...]:
    """All that can be told of a home on its servers."""
    opened = Home.open(home, backend=backend)
    run_ids = list(opened.log.run_ids())
    events = {run_id: [stored.payload for stored in opened.log.read_run(run_id)] for run_id in run_ids}
    rows = list(opened.catalogue.runs())
    effects = {row.effect_id: (row.name, row.idempotency_key, row.state) for row in opened.catalogue.effects()}
    opened.catalogue.close()
    return run_ids, events, rows, effects


def check(home: Path, backend: Backend) -> None:
    """Nothing is damaged, the catalogue is what the log gives, and the ledger remembers, with servers and without."""
    for chosen in (backend, Backend()):
        opened = Home.open(home, backend=chosen)
        assert [finding for finding in verify_home(opened).findings if finding.severity == "damage"] == []
        assert rebuild(opened, check=True).differences == ()
        refused(opened)
        rebuild(opened, check=False)
        refused(opened)
        opened.catalogue.close()


def refused(home: Home) -> None:
    """What happened is refused as confirmed, what may have happened until somebody decides; others may."""
    ledger = Ledger("default", home.past_effects_beside(()))
    with pytest.raises(EffectAlreadyConfirmed):
        ledger.admit("mail", "ann")
    for to in ("bob", "carl"):
        with pytest.raises(ReconciliationRequired):
            ledger.admit("mail", to)
    ledger.admit("mail", "dora")


def in_child(work: Callable[[], object], dies_at: int, within: Path) -> bool:
    """Do something in a forked child that is gone before its n-th change of a directory; whether it came that far."""
    child = os.fork()
    if child == 0:
        try:
            _die(dies_at, str(within))
            work()
        finally:
            os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


def _die(number: int, within: str) -> None:
    left = number

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event not in _CHANGES or not str(arguments[0]).startswith(within):
            return
        left -= 1
        if not left:
            os._exit(9)

    sys.addaudithook(hook)


_CHANGES: Final = frozenset({"open", "os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "sqlite3.connect"})
