"""A home: the directory in which a laptop keeps everything."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from tachograph.core.canonical import Digester, read_body
from tachograph.core.errors import CallerError, InvalidSetting, StoreUnavailable
from tachograph.core.ports import KeyWrapper, PastEffects
from tachograph.schemas import Body
from tachograph.stores._audit import AuditLog
from tachograph.stores._catalogue import SqliteCatalogue
from tachograph.stores._effect_claims import EffectClaims
from tachograph.stores._files import create_once, reason_of, sync_directory
from tachograph.stores._keys import ensure_key, key_file_of, read_key
from tachograph.stores._log import LocalLog
from tachograph.stores._objects import DirectoryObjects
from tachograph.stores._past_beside import PastBeside
from tachograph.stores._raw import RawBodies
from tachograph.stores._spool import SEGMENT_BYTES_MAX, SpoolWriter
from tachograph.stores._tenant_keys import TenantKeys
from tachograph.stores.backend import Backend, backend_of, tenant_of

if TYPE_CHECKING:
    from tachograph.stores._far import Far
    from tachograph.stores._union_catalogue import UnionCatalogue
    from tachograph.stores.archive import ArchiveLog, SnapshotStore, UnionLog
    from tachograph.stores.s3 import CachedObjects

HOME_VERSION = 1
FORMAT = "format.json"
_DIRECTORIES = ("incarnations", "keys", "log", "objects")
_BESIDE = ("dev", "process")  # what `tacho dev` and `tacho process` keep here, perhaps before anything is recorded
_KEY = Path("keys", "digest.key")


class NoHome(CallerError):
    """The directory is not a home."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        super().__init__(
            f"{str(path)!r} is not a Tachograph home: {reason}. "
            f"Give the directory with `--home DIR`, or record something there first."
        )


class Home:
    """Everything under one directory: log, objects, catalogue and key. Open it with `Home.open`.

    Where servers are set, `log`, `catalogue` and `objects` show what those hold as well. What is written goes into the
    directory in any case.
    """

    path: Final[Path]
    """The directory."""
    log: Final[LocalLog | UnionLog]
    catalogue: Final[SqliteCatalogue | UnionCatalogue]
    objects: Final[DirectoryObjects | CachedObjects]
    own_catalogue: Final[SqliteCatalogue]
    """Of the directory alone."""
    archive: Final[ArchiveLog | None]
    """What all machines have shipped; None where S3 is not set."""
    snapshots: Final[SnapshotStore | None]
    """Folded states of archived runs; None where S3 is not set."""
    key_file: Final[Path]
    """Of the digest key."""
    digester: Final[Digester]
    raw: Final[RawBodies]
    audit: Final[AuditLog]
    effect_claims: Final[EffectClaims]

    def __init__(
        self, path: Path, keys: KeyWrapper | None = None, backend: Backend | None = None, tenant: str = "default"
    ) -> None:
        servers = backend or Backend()
        self.path = path
        self.own_catalogue = SqliteCatalogue(path / "catalogue.db", path / "log")
        self.key_file = key_file_of(path / _KEY, servers.digest_key_file)
        self.digester = Digester(read_key(self.key_file))
        log, objects = LocalLog(path / "log", self.own_catalogue), DirectoryObjects(path / "objects")
        far: Far | None = None
        if servers.s3 is not None:
            from tachograph.stores._far import Near, reach

            far = reach(Near(path, log, self.own_catalogue, objects, self.digester), servers, servers.s3, tenant)
        self.archive = None if far is None else far.log.archive
        self.snapshots = None if far is None else far.snapshots
        self.log = log if far is None else far.log
        self.catalogue = self.own_catalogue if far is None else far.catalogue
        self._far_catalogue = None if far is None else far.catalogue.far
        self.objects = objects if far is None else far.objects
        self.raw = RawBodies(path / "raw", keys or TenantKeys(path / "keys" / "tenant"))
        self.effect_claims = EffectClaims(path / "claims")
        self.audit = AuditLog(path / "audit" / "raw.jsonl")
        self._claims = path / "incarnations"
        self._claims_lock = threading.Lock()
        self._claimed = False

    @property
    def past_effects(self) -> PastEffects:
        """Effects of earlier runs and of other processes: of this machine, and where there are servers of all machines."""
        return self.catalogue

    def past_effects_beside(self, own: Collection[str]) -> PastEffects:
        """The same for whoever wrote some spools: he knows what is in them, so that they need not be read.

        What is UNKNOWN is asked of the servers, where there are some: it may have been decided at another machine.

        Args:
            own: their names; it may grow.
        """
        return PastBeside(self.own_catalogue, own, self._far_catalogue)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        create: bool = False,
        keys: KeyWrapper | None = None,
        backend: Backend | None = None,
        tenant: str | None = None,
    ) -> Home:
        """Open a home.

        Args:
            path: its directory.
            create: make it if there is none; several processes may do so at once.
            keys: keeps the keys of tenants; by default they lie in the home, beside what they protect.
            backend: the servers it works with; by default those that the environment names, `Backend()` are none.
            tenant: whose events are looked at in the archive; by default TACHO_TENANT, else `default`.

        Raises:
            CallerError: there is no home, a newer release made it, or it was made under another digest key.
            StoreUnavailable: the operating system refuses.
        """
        path = Path(path)
        chosen = backend_of() if backend is None else backend
        try:
            if create and not _is_whole(path):
                _check_key(path, chosen)
                _create(path, chosen.digest_key_file)
            _check_format(path)
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error
        return cls(path, keys, chosen, tenant or tenant_of())

    def new_spool(self, *, segment_bytes_max: int = SEGMENT_BYTES_MAX) -> SpoolWriter:
        """A spool of this process's own; its syncs make bodies and claims durable before the events.

        Args:
            segment_bytes_max: a segment is closed before it grows beyond this.

        Raises:
            SpoolUnwritable: it cannot be made.
        """
        log, noted = self.path / "log", self.objects.notes.open()
        return SpoolWriter(log, segment_bytes_max=segment_bytes_max, before_sync=self._before_sync, referred=noted)

    def claim_incarnation(self, run_id: str, agent_id: str) -> int:
        """The next life of an agent: 1, 2, 3, …; never the same number twice, whoever asks.

        Raises:
            StoreUnavailable: the claim cannot be written.
        """
        # Hashed: an id can then neither leave the directory nor be too long for a file name.
        name = hashlib.sha256(f"{len(run_id)}:{run_id}{agent_id}".encode("utf-8", "surrogatepass")).hexdigest()
        incarnation = 1
        while not self._claim(self._claims / f"{name}.{incarnation}"):
            incarnation += 1
        return incarnation

    def body(self, body: Body, event_id: str) -> bytes:
        """A payload, checked against its digest.

        Raises:
            MissingBody: it is not there, or not what it was.
        """
        return read_body(body, self.objects, self.digester, event_id)

    def _claim(self, path: Path) -> bool:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            return False
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error
        with self._claims_lock:
            self._claimed = True
        return True

    def _before_sync(self) -> None:
        self.objects.sync()
        self.raw.sync()
        with self._claims_lock:
            claimed, self._claimed = self._claimed, False
        if claimed:
            sync_directory(self._claims)


def _is_whole(path: Path) -> bool:
    """Whether every part is there; copies often lack empty directories."""
    return all((path / name).exists() for name in (FORMAT, *_DIRECTORIES))


def _check_key(path: Path, backend: Backend) -> None:
    """A new home whose bodies go to where other homes read them must not make a key of its own: nobody could check them."""
    if backend.s3 is not None and backend.digest_key_file is None and not (path / _KEY).exists():
        reason = (
            "homes that share an S3 store share a digest key; name a file that holds it: `keys/digest.key` of the first home, "
            "or 32 random bytes (`head -c 32 /dev/urandom`)"
        )
        raise InvalidSetting("TACHO_DIGEST_KEY_FILE", None, reason)


def _create(path: Path, tenant_key: Path | None) -> None:
    """Everything first, `format.json` last: a home is one as soon as that is there."""
    path.mkdir(parents=True, exist_ok=True)
    foreign = [
        entry
        for entry in sorted(child.name for child in path.iterdir())
        if entry not in (*_DIRECTORIES, *_BESIDE) and not entry.startswith(".")
    ]
    if foreign and not (path / FORMAT).exists():
        raise InvalidSetting("home", str(path), f"the directory holds other things ({foreign[0]!r}); name an empty one")
    for name in _DIRECTORIES:
        (path / name).mkdir(exist_ok=True)
    ensure_key(path / _KEY, tenant_key)
    create_once(path / FORMAT, orjson.dumps({"format": "tachograph-home", "version": HOME_VERSION}) + b"\n")


def _check_format(path: Path) -> None:
    try:
        made = orjson.loads((path / FORMAT).read_bytes())
        version = made["version"]
    except FileNotFoundError:
        raise NoHome(path, "there is no format.json in it") from None
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise NoHome(path, "its format.json cannot be read") from error
    if not isinstance(version, int) or version > HOME_VERSION:
        raise NoHome(
            path, f"its format is version {version!r}, this release reads up to {HOME_VERSION}; use a newer one"
        )
