"""Raw bodies come back to whoever has the key, and to nobody else; in clear they are nowhere in a home."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import raw_fleet
from raw_fleet import ADDRESS, PASSWORD, SECRETS, desk
from recordings import events_of, named
from tachograph.core.boundary import Run
from tachograph.core.canonical import decode_body
from tachograph.core.errors import KeyRefused, RawUnavailable, SpoolUnwritable
from tachograph.core.ports import KeyWrapper
from tachograph.core.testing import MemoryKeys
from tachograph.producers import Recorder
from tachograph.schemas import Body, Event
from tachograph.stores import Finding, FindingKind, Home, TenantKeys, verify_home
from tachograph.stores._raw_pack import places
from tachograph.stores._verify_raw import redacted_of

LOGIN = {"user": "alice", "password": PASSWORD}


def recorded(path: Path, raw: bool | KeyWrapper = True, *, tenant: str = "default", length: int = 0) -> str:
    """Record the fleet; returns the run."""
    with Recorder(path, raw=raw, tenant=tenant) as recorder:
        recorder.record(desk, LOGIN, length=length)
    assert recorder.latest_run_id is not None
    return recorder.latest_run_id


def id_of(event: Event) -> str:
    """An event's id."""
    meta = event.meta
    return f"{meta.run_id}/{meta.agent_id}#{meta.incarnation}.{meta.seq}"


def redacted(home: Home, run_id: str) -> list[tuple[str, str, Body]]:
    """Event, field and body of everything that redaction changed."""
    return [(id_of(event), name, body) for event in events_of(home, run_id) for name, body in redacted_of(event)]


def raw_values(home: Home, run_id: str) -> dict[tuple[str, str], object]:
    """Everything raw, by event and field."""
    sealed = home.raw.run(run_id)
    found: dict[tuple[str, str], object] = {}
    for event_id, name, body in redacted(home, run_id):
        found[event_id, name] = decode_body(sealed.read(event_id, name, body, home.body(body, event_id)))
    return found


def findings(home: Home) -> list[tuple[FindingKind, str]]:
    """What verification finds."""
    return [(finding.kind, finding.severity) for finding in verify_home(home).findings]


def everything(home: Path) -> bytes:
    """Every byte and the name of every file, and every object as it is when it is unpacked."""
    parts = [data for path in sorted(home.rglob("*")) if path.is_file() for data in (path.read_bytes(), bytes(path))]
    objects = Home.open(home).objects
    return b"\0".join([*parts, *(found for found in map(objects.get, objects.keys()) if found is not None)])


@pytest.mark.parametrize("length", [0, 20_000], ids=["inline", "in chunks"])
def test_everything_raw_comes_back(tmp_path: Path, length: int) -> None:
    """Arguments, results, receipts, messages, state, artifacts, arguments of exceptions, the run's own: as they were."""
    run_id = recorded(tmp_path / "home", length=length)
    home = Home.open(tmp_path / "home")
    values = raw_values(home, run_id)
    start, end = (named(events_of(home, run_id), kind)[0] for kind in ("RunStarted", "RunFinished"))
    assert values[id_of(start), "arguments"] == {"args": [LOGIN], "kwargs": {"length": length}}
    assert values[id_of(end), "result"] == f"alice wrote to {ADDRESS}"
    assert raw_fleet.look_up("Bob") in values.values()
    assert {"to": ADDRESS, "password": PASSWORD} in values.values()
    assert {"to": ADDRESS, "text": "words " * length} in values.values()
    assert (ADDRESS, {"password": PASSWORD}) in values.values() or [ADDRESS, {"password": PASSWORD}] in values.values()
    fields = {name for _, name in values}
    assert fields == {"arguments", "result", "value", "body", "receipt", "state", "error.arguments", "data"}
    assert verify_home(home).findings == ()
    assert verify_home(home).raw == len(values)


@pytest.mark.parametrize("length", [0, 20_000], ids=["inline", "in chunks"])
@pytest.mark.parametrize("raw", [True, False])
def test_no_secret_is_anywhere_in_clear(tmp_path: Path, length: int, raw: bool) -> None:
    """Not in a segment, an object, a pack, a key file or the catalogue, nor in the name of a file."""
    run_id = recorded(tmp_path / "home", raw, length=length)
    home = Home.open(tmp_path / "home")
    assert home.catalogue.run(run_id).events > 0
    found = everything(tmp_path / "home")
    assert b"nothing in it" in found, "the scan sees what is in clear"
    assert not length or b"words words" in found, "in objects, too"
    for secret in SECRETS:
        assert secret.encode() not in found
    assert (tmp_path / "home" / "raw").exists() == raw
    assert (tmp_path / "home" / "keys" / "tenant").exists() == raw


def test_the_redacted_view_is_the_same_with_and_without(tmp_path: Path) -> None:
    """Tokens and digests do not depend on whether raw bodies are kept; what was not redacted has no second copy."""
    home = Home.open(tmp_path / "home", create=True)
    runs = [recorded(home.path, raw) for raw in (True, False)]
    bodies = [[(name, body) for _, name, body in redacted(home, run_id)] for run_id in runs]
    assert bodies[0] == bodies[1]
    packs = list((home.path / "raw").rglob("*.pack"))
    assert sum(len(list(places(pack))) for pack in packs) == len(bodies[0])


def test_keys_need_not_lie_in_the_home(tmp_path: Path) -> None:
    """A directory elsewhere, or a key service; without it nothing opens and everything else is as before."""
    run_id = recorded(tmp_path / "home", TenantKeys(tmp_path / "vault"))
    assert not (tmp_path / "home" / "keys" / "tenant").exists()
    alone = Home.open(tmp_path / "home")
    with pytest.raises(KeyRefused, match="cannot be read") as refused:
        alone.raw.run(run_id)
    assert refused.value.exit_code == 2
    assert findings(alone) == [(FindingKind.RAW_UNCHECKED, "warning")]
    assert not verify_home(alone).damaged
    together = Home.open(tmp_path / "home", keys=TenantKeys(tmp_path / "vault"))
    assert raw_values(together, run_id)
    assert findings(together) == []


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    """That of another tenant, or of another home."""
    run_id = recorded(tmp_path / "home", TenantKeys(tmp_path / "vault"), tenant="acme")
    other = TenantKeys(tmp_path / "other")
    recorded(tmp_path / "home", other, tenant="acme")
    with pytest.raises(KeyRefused, match="another key"):
        Home.open(tmp_path / "home", keys=other).raw.run(run_id)


def test_a_key_is_bound_to_its_run(tmp_path: Path) -> None:
    """The key file of one run beside the packs of another opens nothing."""
    home = Home.open(tmp_path / "home", create=True)
    first, second = recorded(home.path), recorded(home.path)
    shutil.copy(home.raw.directory_of(first) / "key", home.raw.directory_of(second) / "key")
    copied = (home.raw.directory_of(second) / "key").read_bytes().replace(first.encode(), second.encode())
    (home.raw.directory_of(second) / "key").write_bytes(copied)
    with pytest.raises(KeyRefused, match="belongs to something else"):
        home.raw.run(second)


def test_a_key_service_may_refuse(tmp_path: Path) -> None:
    """Then no run starts; what was recorded stays closed until it answers again."""
    keys = MemoryKeys()
    run_id = recorded(tmp_path / "home", keys)
    home = Home.open(tmp_path / "home", keys=keys)
    assert raw_values(home, run_id)
    keys.refusing = "the key service is away"
    with pytest.raises(KeyRefused, match="is away"):
        recorded(tmp_path / "home", keys)
    with pytest.raises(KeyRefused, match="is away"):
        home.raw.run(run_id)
    keys.refusing = None
    assert raw_values(home, run_id)
    keys.forget("default")
    with pytest.raises(KeyRefused, match="not wrapped here"):
        home.raw.run(run_id)
    assert len(list(home.log.run_ids())) == 1


def test_a_shredded_key_erases_everything_raw(tmp_path: Path) -> None:
    """For ever, though the tenant's key is there; the run can be verified and read as before, and says so."""
    home = Home.open(tmp_path / "home", create=True)
    gone, kept = recorded(home.path), recorded(home.path)
    backup = (home.raw.directory_of(gone) / "key").read_bytes()
    assert home.raw.shred(gone)
    assert not home.raw.shred(gone), "there is nothing left to erase"
    with pytest.raises(KeyRefused, match="shredded"):
        home.raw.run(gone)
    assert raw_values(home, kept)
    assert [(kind, severity) for kind, severity in findings(home)] == [(FindingKind.RAW_UNCHECKED, "warning")]
    assert backup not in everything(home.path)
    assert redacted(home, gone), "the redacted view is untouched"


def test_nothing_raw_is_kept_of_a_run_that_was_shredded(tmp_path: Path) -> None:
    """A process that joins it later records without."""
    home = Home.open(tmp_path / "home", create=True)
    run_id = recorded(home.path)
    home.raw.shred(run_id)
    home.raw.begin("default", run_id)
    assert list(home.raw.directory_of(run_id).iterdir()) == [home.raw.directory_of(run_id) / "key"]


def test_a_run_can_be_shredded_while_it_is_recorded(tmp_path: Path) -> None:
    """Recording goes on; what it still adds cannot be opened."""
    home = Home.open(tmp_path / "home", create=True)

    def control(run: Run) -> None:
        with run.agent("a") as agent:
            agent.set_state("mail", ADDRESS)
            agent.call(raw_fleet.send_mail, ADDRESS)
            recorder.statistics()
            home.raw.shred(run.id)
            agent.set_state("mail", ADDRESS)
            agent.call(raw_fleet.send_mail, ADDRESS)

    with Recorder(home.path, raw=True) as recorder:
        recorder.record(control)
    assert recorder.latest_run_id is not None
    with pytest.raises(KeyRefused, match="shredded"):
        home.raw.run(recorder.latest_run_id)
    assert findings(home) == [(FindingKind.RAW_UNCHECKED, "warning")]


def boxes(home: Home, run_id: str) -> tuple[Path, list[tuple[int, int]]]:
    """The one pack of a run, with offset and size of every box in it."""
    (pack,) = home.raw.directory_of(run_id).glob("*.pack")
    return pack, [(place.offset, place.size) for _, place in places(pack)]


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    """By whoever reads and by verification, at the right event."""
    home = Home.open(tmp_path / "home", create=True)
    run_id = recorded(home.path)
    pack, found = boxes(home, run_id)
    data = bytearray(pack.read_bytes())
    offset, size = found[0]
    data[offset + size - 3] ^= 1
    pack.write_bytes(data)
    event_id, name, body = redacted(home, run_id)[0]
    with pytest.raises(RawUnavailable, match="was changed"):
        home.raw.run(run_id).read(event_id, name, body, home.body(body, event_id))
    (finding,) = verify_home(home).findings
    assert (finding.kind, finding.severity, finding.event_id) == (FindingKind.RAW_CHANGED, "damage", event_id)


def test_a_box_moved_to_another_event_does_not_open(tmp_path: Path) -> None:
    """Two boxes of one run that change places under each other's names."""
    home = Home.open(tmp_path / "home", create=True)
    run_id = recorded(home.path)
    pack, found = boxes(home, run_id)
    same = [(offset, size) for offset, size in found if size == found[0][1]]
    (one, size), (other, _) = same[0], same[1]
    data = bytearray(pack.read_bytes())
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]
    pack.write_bytes(data)
    damage = verify_home(home).findings
    assert [finding.kind for finding in damage] == [FindingKind.RAW_CHANGED] * 2


def test_a_lost_box_is_missed(tmp_path: Path) -> None:
    """Cut off at the end of a pack, in the middle of its last frame."""
    home = Home.open(tmp_path / "home", create=True)
    run_id = recorded(home.path)
    pack, _ = boxes(home, run_id)
    pack.write_bytes(pack.read_bytes()[:-5])
    (finding,) = verify_home(home).findings
    assert (finding.kind, finding.severity) == (FindingKind.RAW_MISSING, "damage")


def test_a_box_under_a_taken_name_hides_nothing(tmp_path: Path) -> None:
    """Whoever can write into the home adds a frame with the name of another one before it."""
    home = Home.open(tmp_path / "home", create=True)
    run_id = recorded(home.path)
    pack, found = boxes(home, run_id)
    data = pack.read_bytes()
    offset, size = found[0]
    frame = bytearray(data[offset - 36 : offset + size])
    frame[-1] ^= 1
    pack.write_bytes(data[:9] + bytes(frame) + data[9:])
    assert raw_values(home, run_id)
    assert findings(home) == []


def test_packs_that_are_gone_are_said_to_be_unchecked(tmp_path: Path) -> None:
    """From outside a stream without raw bodies looks as one that was recorded without."""
    home = Home.open(tmp_path / "home", create=True)
    run_id = recorded(home.path)
    boxes(home, run_id)[0].unlink()
    assert set(findings(home)) == {(FindingKind.RAW_UNCHECKED, "warning")}


def test_a_key_file_that_is_none_is_damage(tmp_path: Path) -> None:
    """It is named."""
    home = Home.open(tmp_path / "home", create=True)
    run_id = recorded(home.path)
    (home.raw.directory_of(run_id) / "key").write_bytes(b"{}")
    found: list[Finding] = list(verify_home(home).findings)
    assert [(finding.kind, finding.severity) for finding in found] == [(FindingKind.RAW_CHANGED, "damage")]
    assert "no run's key" in found[0].sentence


def test_raw_bodies_lie_before_their_events(tmp_path: Path) -> None:
    """A pack that cannot be written breaks the recording: an event without its raw body is never written."""
    home = Home.open(tmp_path / "home", create=True)

    def control(run: Run) -> None:
        recorder.flush()
        shutil.rmtree(home.raw.directory_of(run.id))
        with run.agent("a") as agent:
            agent.set_state("mail", ADDRESS)

    recorder = Recorder(home.path, raw=True)
    with pytest.raises(SpoolUnwritable, match="No such file"):
        recorder.record(control)
    with pytest.raises(SpoolUnwritable):
        recorder.close()
    assert named(events_of(home, recorder.latest_run_id), "StateChanged") == []


def test_without_the_package_nothing_is_recorded_raw(tmp_path: Path) -> None:
    """Asking for it fails with the command that installs it; recording without it imports nothing of it."""
    code = f"""
import sys
sys.modules["cryptography"] = None
from tachograph.producers import Recorder
Recorder({str(tmp_path / "home")!r}).close()
try:
    Recorder({str(tmp_path / "home")!r}, raw=True)
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "InvalidSetting" in done.stdout
    assert "pip install 'tachograph[raw]'" in done.stdout
