"""Running the fold."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from threading import Event

from tachograph.stores.backend import Backend
from tachograph.stores.kafka import topic_name
from tachograph.stores.registry import SchemaRegistry
from tachograph.stores.s3 import Bucket
from tachograph.stream_processors._health import StatusAddress
from tachograph.stream_processors._loop import Loop, Pace, servers_of
from tachograph.stream_processors.fold._books import Books
from tachograph.stream_processors.fold._metrics import FoldMetrics
from tachograph.stream_processors.fold._outlet import FoldOutlet
from tachograph.stream_processors.fold._past import StoredPast
from tachograph.stream_processors.fold._patience import Patience
from tachograph.stream_processors.fold._processor import FoldProcessor
from tachograph.stream_processors.fold._settings import FoldSettings


def run_fold(
    directory: Path,
    backend: Backend,
    stop: Event,
    settings: FoldSettings | None = None,
    status: StatusAddress | None = None,
) -> None:
    """Fold the log until `stop` is set; then store what is held, commit, and return.

    Several processes may do this at once: they share the partitions.

    Args:
        directory: for the registry's ids and the archive's indexes; it may be empty, and is made.
        backend: Kafka and S3 must be set.
        stop: set it, as by SIGTERM, and the fold ends in good order.
        settings: bounds; None: as `FoldSettings` has them.
        status: where to answer `/healthz` and `/metrics`; None: nowhere.

    Raises:
        InvalidSetting: Kafka or S3 is not set, or the bucket is missing.
        StoreUnavailable: a fault of S3 or Kafka did not pass in time, or is none that passes; what was not committed is
            read again after the next start.
    """
    kafka, s3 = servers_of(backend, "fold")
    chosen = settings or FoldSettings()
    directory.mkdir(parents=True, exist_ok=True)
    metrics = FoldMetrics()
    with ExitStack() as opened:
        topic = topic_name(kafka, "events")
        registry = opened.enter_context(SchemaRegistry(backend.registry, directory / "registry.json", topic=topic))
        outlet = FoldOutlet(kafka)
        opened.callback(outlet.close)
        patience = Patience(chosen.fault_seconds, chosen.pause_seconds, stop, metrics.faults.inc)
        bucket = Bucket(s3, connections=chosen.savers)
        bucket.require()
        past = StoredPast(bucket, directory, patience, chosen.refresh_seconds)
        processor = FoldProcessor(
            past, Books(bucket), outlet, registry.from_wire, settings=chosen, metrics=metrics, patience=patience
        )
        opened.callback(processor.close)
        group = chosen.group or topic_name(kafka, "fold")
        pace = Pace(group, chosen.batch_records, chosen.poll_seconds, chosen.stall_seconds)
        Loop("folded", processor, pace, metrics.lag.set, stop).run(kafka, topic, status, metrics.registry)
