"""Whatever is changed in a log, verification finds it and names it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from chains import Chain, Clock
from segments import HEADER_BYTES, Frame, damage, frames_of, joined, recorded, segments_of
from tachograph.schemas import decode_meta
from tachograph.stores import FindingKind, Home, SpoolWriter, verify_home


def _event_id(payload: bytes) -> str:
    meta = decode_meta(payload)
    return f"{meta.run_id}/{meta.agent_id}#{meta.incarnation}.{meta.seq}"


def _frame_at(frames: list[Frame], position: int) -> Frame | None:
    """The frame that a byte belongs to."""
    before = [frame for frame in frames if frame.offset <= position]
    return before[-1] if before else None


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A closed home that is whole."""
    made = recorded(tmp_path / "home")
    assert verify_home(made).findings == ()
    return made


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_found_and_its_event_named(home: Home, mask: int) -> None:
    """Of every byte of every segment: frame heads, events, headers and seals."""
    for path in segments_of(home):
        whole = path.read_bytes()
        frames = frames_of(whole)
        for position in range(0, len(whole), 1 if mask == 0x01 else 5):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ mask]) + whole[position + 1 :])
            findings = damage(verify_home(home).findings)
            frame = _frame_at(frames, position)
            assert findings, f"byte {position} of {path.name}"
            if frame is None:
                assert FindingKind.HEADER in {finding.kind for finding in findings}
            elif frame is frames[-1]:
                assert (FindingKind.SEAL, frame.offset) in {(finding.kind, finding.offset) for finding in findings}
            else:
                named = {(finding.offset, finding.event_id) for finding in findings}
                assert (frame.offset, _event_id(frame.payload)) in named, f"byte {position}: {findings}"
        path.write_bytes(whole)


def test_every_flipped_byte_of_a_log_that_a_crash_left_is_found(tmp_path: Path) -> None:
    """Without a seal, too, and never taken for a torn tail."""
    home = recorded(tmp_path / "home", closed=False)
    path = segments_of(home)[-1]
    whole = path.read_bytes()
    frames = frames_of(whole)
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x10]) + whole[position + 1 :])
        findings = damage(verify_home(home).findings)
        frame = _frame_at(frames, position)
        assert findings, f"byte {position}"
        if frame is not None:
            assert _event_id(frame.payload) in {finding.event_id for finding in findings}, f"byte {position}"


def _edits(payloads: list[bytes]) -> Iterator[tuple[str, list[bytes], set[str]]]:
    """Every single structural change: what it is, the payloads after it, and the events one of which is to be named."""
    for at, payload in enumerate(payloads):
        name = _event_id(payload)
        yield f"{name} removed", payloads[:at] + payloads[at + 1 :], {name}
        yield f"{name} duplicated", [*payloads[: at + 1], payload, *payloads[at + 1 :]], {name}
        yield f"{name} duplicated at the end", [*payloads, payload], {name}
        changed = payload[:-1] + bytes([payload[-1] ^ 1])
        yield f"{name} edited", [*payloads[:at], changed, *payloads[at + 1 :]], {name}
    for one, other in itertools.combinations(range(len(payloads)), 2):
        swapped = list(payloads)
        swapped[one], swapped[other] = swapped[other], swapped[one]
        names = {_event_id(payloads[one]), _event_id(payloads[other])}
        yield f"{one} and {other} swapped", swapped, names
        moved = [*payloads[:one], *payloads[one + 1 : other + 1], payloads[one], *payloads[other + 1 :]]
        yield f"{one} moved behind {other}", moved, {_event_id(payloads[one]), *map(_event_id, payloads[one:other])}


@pytest.mark.parametrize("segment", [0, 1])
def test_every_structural_change_with_true_checksums_is_found_and_named(home: Home, segment: int) -> None:
    """Removed, duplicated, edited, swapped and moved events, by somebody who knows how checksums are made."""
    path = segments_of(home)[segment]
    whole = path.read_bytes()
    *events, seal = (frame.payload for frame in frames_of(whole))
    for what, payloads, names in _edits(events):
        path.write_bytes(joined(whole[:HEADER_BYTES], [*payloads, seal]))
        findings = damage(verify_home(home).findings)
        named = {finding.event_id for finding in findings}
        tail = f"{_event_id(events[-1])} removed" == what
        assert named & names or (tail and findings), f"{what}: {findings}"


def test_structural_changes_without_new_checksums_are_found_and_named(home: Home) -> None:
    """Frames that are removed, duplicated or exchanged as they lie there break the chain of checksums."""
    path = segments_of(home)[0]
    whole = path.read_bytes()
    frames = frames_of(whole)
    cut = [whole[frame.offset : after.offset] for frame, after in itertools.pairwise(frames)]
    tail = whole[frames[-1].offset :]
    for at in range(len(cut) - 1):
        for parts in (
            [*cut[:at], *cut[at + 1 :]],
            [*cut[: at + 1], cut[at], *cut[at + 1 :]],
            [*cut[:at], cut[at + 1], cut[at], *cut[at + 2 :]],
        ):
            path.write_bytes(b"".join([whole[:HEADER_BYTES], *parts, tail]))
            near = {_event_id(frame.payload) for frame in frames[at : at + 2]}
            assert near & {finding.event_id for finding in damage(verify_home(home).findings)}


def test_an_event_replaced_by_a_well_formed_one_breaks_the_chain_behind_it(tmp_path: Path) -> None:
    """Even with a hash, checksums and a seal of its own, a new event does not fit the events that follow."""
    clock = Clock()
    chain = Chain("run-1", "run", clock, digester=Home.open(tmp_path / "home", create=True).digester)
    payloads = [chain.run_started()]
    twin = chain.fork()
    payloads += [chain.call_started(value={"amount": 1}), chain.call_finished("paid"), chain.run_finished()]
    payloads[1] = twin.call_started(value={"amount": 100})
    home = Home.open(tmp_path / "home")
    with SpoolWriter(home.path / "log") as writer:
        writer.append(payloads)
    findings = verify_home(home).findings
    assert [(finding.kind, finding.event_id) for finding in findings] == [(FindingKind.CHANGED, "run-1/run#1.3")]


def test_a_fork_of_history_is_told_from_a_duplicate(tmp_path: Path) -> None:
    """Two events with one key: FORKED when their bytes differ, DUPLICATE when they do not."""
    home = Home.open(tmp_path / "home", create=True)
    chain = Chain("run-1", "run", Clock(), digester=home.digester)
    start = chain.run_started()
    twin = chain.fork()
    first, second = chain.call_started(value=1), twin.call_started(value=2)
    with SpoolWriter(home.path / "log") as writer:
        writer.append([start, first])
    with SpoolWriter(home.path / "log") as writer:
        writer.append([start, second])
    kinds = {(finding.kind, finding.event_id) for finding in damage(verify_home(home).findings)}
    assert kinds == {(FindingKind.DUPLICATE, "run-1/run#1.1"), (FindingKind.FORKED, "run-1/run#1.2")}
