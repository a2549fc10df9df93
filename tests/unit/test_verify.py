"""What verification says of homes that are not as they should be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chains import Chain, Clock, small_fleet
from segments import damage, recorded, segments_of
from tachograph.core.causality import EventId
from tachograph.core.errors import UnknownRun
from tachograph.schemas import BodyErased, CallStarted, decode
from tachograph.stores import FindingKind, Home, SpoolWriter, verify_home


def _kinds(home: Home) -> list[tuple[FindingKind, str | None]]:
    return [(finding.kind, finding.event_id) for finding in verify_home(home).findings]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home."""
    return Home.open(tmp_path / "home", create=True)


def _with_body(home: Home, size: int) -> tuple[Chain, list[bytes], SpoolWriter]:
    """A run that carries a body of about this many bytes."""
    chain = Chain("run-1", "run", Clock(), digester=home.digester, objects=home.objects)
    text = " ".join(str(number) for number in range(size // 6))
    payloads = [chain.run_started(), chain.call_started(value=text), chain.call_finished("done"), chain.run_finished()]
    writer = home.new_spool()
    writer.append(payloads)
    return chain, payloads, writer


def test_a_whole_home_has_no_findings(tmp_path: Path) -> None:
    """And the report counts what was looked at."""
    report = verify_home(recorded(tmp_path / "home"))
    assert (report.findings, report.events, report.runs, report.damaged) == ((), 14, 1, False)
    assert report.segments == 2
    assert report.bodies == 13


def test_an_empty_home_is_whole(home: Home) -> None:
    """Nothing recorded, nothing wrong."""
    assert verify_home(home).findings == ()


def test_a_torn_tail_is_a_warning_that_says_how_much_is_not_read(tmp_path: Path) -> None:
    """A process died within a write: that is no tampering."""
    home = recorded(tmp_path / "home", closed=False, segment_bytes_max=1_000_000)
    path = segments_of(home)[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    report = verify_home(home)
    assert not report.damaged
    kinds = {finding.kind for finding in report.findings}
    assert kinds == {FindingKind.TORN, FindingKind.TRUNCATED}
    (torn,) = (finding for finding in report.findings if finding.kind is FindingKind.TORN)
    assert torn.path == f"log/{path.parent.name}/{path.name}"
    assert "bytes are not read" in torn.sentence
    assert report.events == 13


@pytest.mark.parametrize("tail", [bytes(4096), b"\x20", b"\xff\xff\x00\x00", b"\x00\x04\x00\x00abcd" + bytes(1024)])
def test_what_a_power_failure_leaves_is_a_torn_tail(tmp_path: Path, tail: bytes) -> None:
    """Zeros, a part of a frame's head, a frame that ends in zeros."""
    home = recorded(tmp_path / "home", closed=False, segment_bytes_max=1_000_000)
    path = segments_of(home)[0]
    path.write_bytes(path.read_bytes() + tail)
    assert _kinds(home) == [(FindingKind.TORN, None)]


def test_a_header_that_was_never_finished_is_torn(tmp_path: Path) -> None:
    """The process died while it opened its next segment."""
    home = recorded(tmp_path / "home", closed=False)
    first, second = segments_of(home)
    second.write_bytes(second.read_bytes()[:40])
    report = verify_home(home)
    assert not report.damaged
    assert {finding.kind for finding in report.findings} == {FindingKind.TORN, FindingKind.TRUNCATED}
    assert first.exists()


def test_a_run_that_never_ended_is_a_warning_with_its_last_event(tmp_path: Path, home: Home) -> None:
    """For each stream that breaks off."""
    writer = home.new_spool()
    writer.append(small_fleet(digester=home.digester)[:-1])
    writer.abandon()
    assert _kinds(home) == [(FindingKind.TRUNCATED, "run-1/run#1.1")]
    assert not verify_home(home).damaged


def test_a_living_recorder_gives_no_findings(home: Home) -> None:
    """Neither its unfinished streams nor its unsealed segment are wrong."""
    with home.new_spool() as writer:
        writer.append(small_fleet(digester=home.digester)[:5])
        assert verify_home(home).findings == ()


def test_a_cause_that_a_living_process_wrote_after_it_was_read_is_not_missed(home: Home) -> None:
    """Spools are read one after the other while both go on."""
    clock = Clock()
    root = Chain("run-1", "run", clock, digester=home.digester)
    child = Chain("run-1", "triage", clock, digester=home.digester)
    with home.new_spool() as one, home.new_spool() as two:
        one.append([root.run_started()])
        root.call_started()
        two.append([child.agent_started(root.latest)])
        assert verify_home(home).findings == ()


def test_a_removed_segment_is_named_and_so_are_the_events_in_it(tmp_path: Path) -> None:
    """The first: the seals and the chains say so."""
    home = recorded(tmp_path / "home")
    first, _ = segments_of(home)
    first.unlink()
    found = _kinds(home)
    assert (FindingKind.SEGMENT_MISSING, None) in found
    assert (FindingKind.MISSING, "run-1/run#1.1") in found


def test_a_removed_last_segment_is_missed(tmp_path: Path) -> None:
    """A spool that was closed knows how many segments it has."""
    home = recorded(tmp_path / "home")
    segments_of(home)[-1].unlink()
    assert (FindingKind.SEGMENT_MISSING, None) in _kinds(home)


def test_a_segment_cut_at_a_frame_is_missed(tmp_path: Path) -> None:
    """Its seal is gone, which a clean close would have left."""
    home = recorded(tmp_path / "home", segment_bytes_max=1_000_000)
    path = segments_of(home)[0]
    path.write_bytes(path.read_bytes()[: -(8 + 45)])
    assert FindingKind.SEAL in {kind for kind, _ in _kinds(home)}


def test_segments_in_each_others_place_are_named(tmp_path: Path) -> None:
    """A segment knows its number and its spool."""
    home = recorded(tmp_path / "home")
    first, second = segments_of(home)
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    headers = [finding for finding in verify_home(home).findings if finding.kind is FindingKind.HEADER]
    assert len(headers) == 2
    assert "number 2 of its spool and lies here as number 1" in headers[0].sentence


def test_a_removed_spool_is_missed(tmp_path: Path) -> None:
    """Although nothing else refers to its run."""
    home = recorded(tmp_path / "home")
    with home.new_spool() as writer:
        writer.append(small_fleet("run-2", digester=home.digester))
    shutil.rmtree(segments_of(home)[0].parent)
    assert _kinds(home) == [(FindingKind.SPOOL_MISSING, None)]


def test_a_segment_shorter_than_the_catalogue_read_it_is_missed(tmp_path: Path) -> None:
    """An end that was cut off at a whole frame looks like a crash, but the catalogue has seen more."""
    home = recorded(tmp_path / "home", closed=False, segment_bytes_max=1_000_000)
    home.catalogue.refresh()
    path = segments_of(home)[0]
    payloads = small_fleet(digester=home.digester)
    path.write_bytes(path.read_bytes()[: -(8 + len(payloads[-1]))])
    assert FindingKind.SHORTENED in {kind for kind, _ in _kinds(home)}


def test_a_missing_cause_is_named(home: Home) -> None:
    """With the event that needs it."""
    clock = Clock()
    root = Chain("run-1", "run", clock, digester=home.digester)
    lost = Chain("run-1", "mail", clock, digester=home.digester)
    start = root.run_started()
    lost.agent_started(root.latest)
    with home.new_spool() as writer:
        writer.append([start, root.run_finished(lost.latest)])
    (finding,) = verify_home(home).findings
    assert (finding.kind, finding.event_id) == (FindingKind.MISSING, "run-1/mail#1.1")
    assert "run-1/run#1.2" in finding.sentence


def test_a_cause_with_another_hash_is_named(home: Home) -> None:
    """An event was exchanged after another one had named it."""
    clock = Clock()
    root = Chain("run-1", "run", clock, digester=home.digester)
    one = Chain("run-1", "mail", clock, digester=home.digester)
    start = root.run_started()
    other = one.fork()
    one.agent_started(root.latest, role="sender")
    exchanged = other.agent_started(root.latest, role="thief")
    with home.new_spool() as writer:
        writer.append([start, exchanged, other.agent_finished(), root.run_finished(one.latest)])
    kinds = _kinds(home)
    assert kinds == [(FindingKind.CAUSE, "run-1/mail#1.1")]


@pytest.mark.parametrize("size", [40_000, 900_000])
def test_a_missing_body_is_named_with_its_event(home: Home, size: int) -> None:
    """Whichever object of it is gone, chunks that stand in groups too."""
    _, _, writer = _with_body(home, size)
    writer.close()
    assert verify_home(home).findings == ()
    for key in list(home.objects.keys()):
        path = home.objects.path_of(key)
        whole = path.read_bytes()
        path.unlink()
        found = {(finding.kind, finding.event_id, finding.path) for finding in verify_home(home).findings}
        name = f"objects/{path.parent.name}/{path.name}"
        assert found == {(FindingKind.BODY_MISSING, "run-1/run#1.2", name)}
        path.write_bytes(whole)


def test_a_changed_body_is_named_with_its_event(home: Home) -> None:
    """Any byte of any object."""
    _, _, writer = _with_body(home, 40_000)
    writer.close()
    for key in list(home.objects.keys()):
        path = home.objects.path_of(key)
        whole = path.read_bytes()
        for position in range(0, len(whole), 997):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
            (finding,) = verify_home(home).findings
            assert (finding.kind, finding.event_id) == (FindingKind.BODY_CHANGED, "run-1/run#1.2")
        path.write_bytes(whole)


def test_a_changed_inline_body_under_a_true_hash_is_found(home: Home) -> None:
    """A writer that hashed other bytes than it digested."""
    chain = Chain("run-1", "run", Clock(), digester=home.digester)
    start = chain.run_started()
    other = Chain("run-1", "run", Clock(), digester=None)
    body = other.body("forged")
    event = CallStarted(chain.meta(), "tool", "look_up", None, "read", None, 1, None, body)
    with home.new_spool() as writer:
        writer.append([start, chain.add(event), chain.call_finished(), chain.run_finished()])
    assert _kinds(home) == [(FindingKind.BODY_CHANGED, "run-1/run#1.2")]


def test_an_erased_body_is_not_missed(home: Home) -> None:
    """Its event says that it was erased on request."""
    chain, payloads, writer = _with_body(home, 40_000)
    call = decode(payloads[1])
    assert isinstance(call, CallStarted)
    desk = Chain("run-1", "archivist", Clock(2_000_000_000_000), digester=home.digester)
    start = desk.agent_started(chain.latest)
    erased = desk.add(BodyErased(desk.meta(), call.arguments.digest, "asked for", "person:ada"))
    writer.append([start, erased, desk.agent_finished()])
    writer.close()
    for key in list(home.objects.keys()):
        home.objects.path_of(key).unlink()
    assert _kinds(home) == []


def test_only_the_runs_asked_for_are_verified(home: Home) -> None:
    """Another run's missing body does not concern them."""
    _, _, writer = _with_body(home, 40_000)
    writer.append(small_fleet("run-2", digester=home.digester))
    writer.close()
    home.objects.path_of(next(iter(home.objects.keys()))).unlink()
    assert verify_home(home, ["run-2"]).findings == ()
    assert verify_home(home, ["run-1"]).damaged
    assert verify_home(home, ["run-2"]).events == 14


def test_an_unknown_run_is_refused(home: Home) -> None:
    """With a message that names it."""
    with pytest.raises(UnknownRun, match="'nope'"):
        verify_home(home, ["nope"])


def test_verification_changes_no_byte_of_the_log(tmp_path: Path) -> None:
    """Not even of one that a crash left torn."""
    home = recorded(tmp_path / "home", closed=False)
    path = segments_of(home)[-1]
    path.write_bytes(path.read_bytes()[:-3])
    before = {file: file.read_bytes() for file in home.path.glob("log/**/*") if file.is_file()}
    verify_home(home)
    assert {file: file.read_bytes() for file in home.path.glob("log/**/*") if file.is_file()} == before


def test_progress_is_told(tmp_path: Path) -> None:
    """Segment by segment."""
    told: list[tuple[int, int, str]] = []
    verify_home(recorded(tmp_path / "home"), None, lambda *step: told.append(step))
    assert [step for step in told if step[2] == "segments"] == [(0, 2, "segments"), (1, 2, "segments")]


def test_findings_name_events_by_ids_that_can_be_parsed(tmp_path: Path) -> None:
    """So that `tacho show` can be pointed at them."""
    home = recorded(tmp_path / "home")
    path = segments_of(home)[0]
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    for finding in damage(verify_home(home).findings):
        if finding.event_id is not None:
            assert str(EventId.parse(finding.event_id)) == finding.event_id
        assert finding.sentence.endswith(".")
