"""Wherever a process dies while it writes, what remains is a prefix, it is not damaged, and others go on."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from chains import Chain, Clock, small_fleet
from tachograph.core.errors import UnknownRun
from tachograph.stores import FindingKind, Home, LocalLog, SpoolWriter, rebuild, verify_home


def _payloads(log: LocalLog, run_id: str) -> list[bytes]:
    try:
        return [stored.payload for stored in log.read_run(run_id)]
    except UnknownRun:
        return []


def _recorded(chain: Chain, sizes: list[int]) -> list[list[bytes]]:
    batches = [[chain.run_started()]]
    for number, size in enumerate(sizes):
        batches.append([chain.call_started(value="x" * (size * number % 700)) for _ in range(size)])
    return batches


@settings(max_examples=80, deadline=None, print_blob=True)
@given(
    sizes=st.lists(st.integers(1, 5), max_size=8),
    segment_bytes_max=st.sampled_from([300, 1000, 5000]),
    cut=st.floats(0, 1),
    tail=st.binary(max_size=12),
)
def test_a_log_cut_anywhere_is_a_prefix(sizes: list[int], segment_bytes_max: int, cut: float, tail: bytes) -> None:
    """Cut within the last segment, at any byte, with or without half a frame behind it."""
    with tempfile.TemporaryDirectory() as directory:
        home = Home.open(Path(directory) / "home", create=True)
        writer = SpoolWriter(home.path / "log", segment_bytes_max=segment_bytes_max)
        every: list[bytes] = []
        for batch in _recorded(Chain("run-1", "run", Clock(), digester=home.digester), sizes):
            writer.append(batch)
            every += batch
        writer.abandon()
        path = max(writer.path.glob("*.seg"))
        whole = path.read_bytes()
        kept = round(len(whole) * cut)
        path.write_bytes(whole[:kept])
        found = _payloads(home.log, "run-1")
        assert found == every[: len(found)]
        report = verify_home(home)
        assert not report.damaged
        assert {finding.kind for finding in report.findings} <= {FindingKind.TORN, FindingKind.TRUNCATED}
        with home.new_spool() as other:
            other.append(small_fleet("run-2", digester=home.digester))
        assert len(_payloads(home.log, "run-2")) == 14
        assert rebuild(home, check=True).differences == ()
        assert _payloads(LocalLog(home.path / "log"), "run-1") == found
        home.catalogue.close()
        path.write_bytes(whole + tail[:7])
        assert _payloads(LocalLog(home.path / "log"), "run-1") == every


@settings(max_examples=60, deadline=None, print_blob=True)
@given(
    batches=st.lists(st.lists(st.binary(min_size=1, max_size=200), max_size=6), max_size=12),
    segment_bytes_max=st.sampled_from([200, 1000, 100_000]),
)
def test_frames_hold_any_bytes(batches: list[list[bytes]], segment_bytes_max: int) -> None:
    """What is written is what lies there, in order, whatever it is."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        with SpoolWriter(root, segment_bytes_max=segment_bytes_max) as writer:
            for batch in batches:
                writer.append([b"\0" + payload for payload in batch])
        bare = LocalLog(root)
        assert bare.torn_tails() == []
        assert writer.statistics().events == sum(map(len, batches))
        list(bare.run_ids())
