"""What a home reaches beyond its own directory: the archive, and the catalogue of all machines.

Loaded only where a server is set: a home without any pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from tachograph.core.canonical import Digester
from tachograph.stores._catalogue import SqliteCatalogue
from tachograph.stores._log import LocalLog
from tachograph.stores._objects import DirectoryObjects
from tachograph.stores._union_catalogue import UnionCatalogue
from tachograph.stores.archive import ArchiveCatalogue, ArchiveLog, SnapshotStore, UnionLog
from tachograph.stores.backend import Backend, RedisSettings, S3Settings
from tachograph.stores.s3 import Bucket, CachedObjects, S3Objects

if TYPE_CHECKING:
    from tachograph.stores.redis import RedisCatalogue


class Near(NamedTuple):
    """What a home has of its own."""

    path: Path
    """The home's directory."""
    log: LocalLog
    catalogue: SqliteCatalogue
    objects: DirectoryObjects
    digester: Digester


class Far(NamedTuple):
    """The same, with what the servers have."""

    log: UnionLog
    catalogue: UnionCatalogue
    objects: CachedObjects
    snapshots: SnapshotStore


def reach(near: Near, backend: Backend, s3: S3Settings, tenant: str) -> Far:
    """A home's log, catalogue and objects together with those of its servers.

    Nothing is connected before it is needed.

    Args:
        near: the home's own.
        backend: the servers.
        s3: the one of them that holds the archive.
        tenant: whose events are looked at.
    """
    bucket = Bucket(s3)
    redis = None if backend.redis is None else _redis(backend.redis, tenant)
    archive = ArchiveLog(bucket, tenant, near.path / "archive.db", tuple if redis is None else redis.segments)
    log = UnionLog(near.log, archive, _numbers(near.catalogue, "first_hlc"))
    folding = ArchiveCatalogue(archive, log, _numbers(near.catalogue, "touched"))
    catalogue = UnionCatalogue(near.catalogue, folding if redis is None else redis, redis, tenant)
    objects = CachedObjects(
        near.objects, S3Objects(bucket, tenant), is_whole=lambda key, data: near.digester.digest(data) == key
    )
    return Far(log, catalogue, objects, SnapshotStore(bucket, tenant))


def _redis(settings: RedisSettings, tenant: str) -> RedisCatalogue:
    from tachograph.stores.redis import RedisCatalogue

    return RedisCatalogue(settings, tenant)


def _numbers(catalogue: SqliteCatalogue, column: str) -> Callable[[], Mapping[str, int]]:
    """A column of the local runs, as of now."""

    def numbers() -> Mapping[str, int]:
        catalogue.refresh()
        rows = catalogue.database.rows(f"SELECT run_id, {column} FROM runs")  # noqa: S608 the column is one of two above
        return dict(cast("list[tuple[str, int]]", rows))

    return numbers
