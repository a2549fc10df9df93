"""Gathering closed runs that lie in many segments into segments of their own."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Final

from tachograph.core.errors import EvidenceBroken, UnknownRun
from tachograph.stores.archive import ArchiveLog, StoredSegment, compact_run
from tachograph.stores.s3 import Bucket

_LOG: Final = logging.getLogger("tachograph.archive")


class Compactor:
    """Compacts runs of any tenant.

    Args:
        bucket: where the archive is.
        directory: for what the segments' indexes say.
        segments_min: a run in fewer segments stays where it is; 0: every run does.
    """

    def __init__(self, bucket: Bucket, directory: Path, segments_min: int) -> None:
        self._bucket = bucket
        self._directory = directory
        self._segments_min = segments_min
        self._archives: dict[str, ArchiveLog] = {}

    def compact(self, tenant: str, run_id: str) -> StoredSegment | None:
        """Compact a run in which nothing more is expected; None where it stays as it is.

        Raises:
            StoreUnavailable: the archive cannot be reached.
        """
        if not self._segments_min:
            return None
        archive = self._archive(tenant)
        archive.refresh()
        if len(archive.cache.parts(run_id)) < self._segments_min:
            return None
        try:
            return compact_run(self._bucket, archive, run_id)
        except (EvidenceBroken, UnknownRun) as error:
            _LOG.warning("tachograph: run %s is not compacted: %s", run_id, error)
            return None

    def _archive(self, tenant: str) -> ArchiveLog:
        if tenant not in self._archives:
            name = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            self._archives[tenant] = ArchiveLog(self._bucket, tenant, self._directory / f"{name}.db")
        return self._archives[tenant]
