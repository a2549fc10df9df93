"""Running the archive."""

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
from tachograph.stream_processors._outlet import Outlet
from tachograph.stream_processors.archive._compactor import Compactor
from tachograph.stream_processors.archive._metrics import ArchiveMetrics
from tachograph.stream_processors.archive._processor import ArchiveProcessor
from tachograph.stream_processors.archive._screen import Screen
from tachograph.stream_processors.archive._settings import ArchiveSettings


def run_archive(
    directory: Path,
    backend: Backend,
    stop: Event,
    settings: ArchiveSettings | None = None,
    status: StatusAddress | None = None,
) -> None:
    """Archive the log until `stop` is set; then store what is held, commit, and return.

    Several processes may do this at once: they share the partitions.

    Args:
        directory: for the registry's ids and the indexes of segments; it may be empty, and is made.
        backend: Kafka and S3 must be set.
        stop: set it, as by SIGTERM, and the archive ends in good order.
        settings: bounds; None: as `ArchiveSettings` has them.
        status: where to answer `/healthz` and `/metrics`; None: nowhere.

    Raises:
        InvalidSetting: Kafka or S3 is not set, or the bucket is missing.
        StoreUnavailable: a fault of S3 or Kafka did not pass in time, or is none that passes; what was not committed is
            read again after the next start.
    """
    kafka, s3 = servers_of(backend, "archive")
    chosen, bucket = settings or ArchiveSettings(), Bucket(s3)
    bucket.require()
    directory.mkdir(parents=True, exist_ok=True)
    metrics = ArchiveMetrics()
    with ExitStack() as opened:
        topic = topic_name(kafka, "events")
        registry = opened.enter_context(SchemaRegistry(backend.registry, directory / "registry.json", topic=topic))
        outlet = Outlet(kafka)
        opened.callback(outlet.close)
        compactor = Compactor(bucket, directory, chosen.compact_segments)
        processor = ArchiveProcessor(
            bucket, Screen(registry.from_wire), outlet, compactor=compactor, settings=chosen, metrics=metrics, stop=stop
        )
        group = chosen.group or topic_name(kafka, "archive")
        pace = Pace(group, chosen.batch_records, chosen.poll_seconds, chosen.stall_seconds)
        Loop("archived", processor, pace, metrics.lag.set, stop).run(kafka, topic, status, metrics.registry)
