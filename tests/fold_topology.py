"""The fold on real servers: events go into Kafka, findings and snapshots come out; what must come out says the log itself."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from confluent_kafka import KafkaException

from archive_topology import PARTITIONS, Topology, committed
from tachograph.core.causality import hlc_ms
from tachograph.core.findings import Finding, RunFinding, SignatureFinding, finding_of, findings_of, newer
from tachograph.core.state import Folding, RunState, empty
from tachograph.schemas import decode_meta
from tachograph.stores.kafka import EventConsumer, TopicPlan, ensure_topics, topic_name
from tachograph.stream_processors import StatusAddress
from tachograph.stream_processors.fold import FoldLimits, FoldSettings, run_fold

QUICK = FoldSettings(
    group="fold",
    limits=FoldLimits(snapshot_events_min=10, small_events_max=5),
    checkpoint_seconds=0.3,
    checkpoint_records=400,
    idle_seconds=1,
    poll_seconds=0.1,
    batch_records=300,
    fault_seconds=20,
    pause_seconds=0.1,
    refresh_seconds=0.1,
)


def with_snapshots(topology: Topology) -> Topology:
    """The same servers, with the topic of snapshots, too."""
    ensure_topics(topology.kafka, [TopicPlan("snapshots", PARTITIONS, None)])
    return topology


@contextmanager
def folding(
    topology: Topology, settings: FoldSettings = QUICK, status: StatusAddress | None = None, name: str = "fold"
) -> Generator[threading.Thread]:
    """A fold in a thread; at the end it drains, and what it raised is raised."""
    stop = threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            run_fold(topology.directory / name, topology.backend, stop, settings, status)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def folded_to(topology: Topology) -> int:
    """How many records the fold has committed; none while the group has no coordinator yet."""
    try:
        return committed(topology, QUICK.group)
    except KafkaException:
        return 0


class Catalogue:
    """What whoever reads the findings comes to; read on with every look."""

    def __init__(self, topology: Topology) -> None:
        self._consumer = EventConsumer(topology.kafka, "test-catalogue", [topic_name(topology.kafka, "findings")])
        self._kept: dict[str, Finding] = {}

    def look(self) -> dict[str, Finding]:
        """What stands: a signature does while the row of its run has its position."""
        while records := self._consumer.poll(5000, 1.0):
            for record in records:
                finding = finding_of(record.value or b"")
                assert record.key == finding.run_id.encode()
                kept = self._kept.get(finding.key)
                if kept is None or newer(finding, kept):
                    self._kept[finding.key] = finding
        return standing(self._kept.values())

    def close(self) -> None:
        """Let go of the cluster."""
        self._consumer.close()


def standing(findings: Iterable[Finding]) -> dict[str, Finding]:
    """Findings without the signatures that a run no longer shows."""
    kept = {finding.key: finding for finding in findings}
    rows = {finding.run_id: finding.position for finding in kept.values() if isinstance(finding, RunFinding)}
    return {
        key: finding
        for key, finding in kept.items()
        if not isinstance(finding, SignatureFinding) or rows.get(finding.run_id) == finding.position
    }


def expected(payloads: Iterable[bytes], over_ms: int = QUICK.limits.over_ms) -> dict[str, Finding]:
    """What the findings of a log come to, wherever each run's partition has moved on to its end."""
    states = states_of(payloads)
    clock = max(state.hlc for state in states.values())
    found: dict[str, Finding] = {}
    for state in states.values():
        over = hlc_ms(clock) - hlc_ms(state.hlc) > over_ms
        found |= {finding.key: finding for finding in findings_of(state, over=over)}
    return found


def states_of(payloads: Iterable[bytes]) -> dict[str, RunState]:
    """What a log's runs add up to, each event counted once, every stream's in order."""
    runs: dict[str, Folding] = {}
    for payload in sorted(set(payloads), key=_order):
        run_id = decode_meta(payload).run_id
        runs.setdefault(run_id, Folding(empty(run_id))).add(payload, over_gaps=True)
    return {run_id: folding.state for run_id, folding in runs.items()}


def _order(payload: bytes) -> tuple[int, str, int, int]:
    meta = decode_meta(payload)
    return meta.hlc, meta.agent_id, meta.incarnation, meta.seq


def plain(findings: dict[str, Finding]) -> dict[str, object]:
    """What a catalogue shows of findings: not how far an effect's run was when it was told."""
    return {
        key: finding.hit if isinstance(finding, SignatureFinding) else finding.row
        for key, finding in findings.items()
        if hasattr(finding, "row") or isinstance(finding, SignatureFinding)
    }
