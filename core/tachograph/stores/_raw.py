"""Raw bodies: what redaction took out, sealed under a key of the run.

`raw/RUN/key` holds the run's data key, wrapped under the tenant's; `raw/RUN/LIFE.pack` the sealed bodies that one process
wrote. Packs and not an object for each body: a group commit then costs one write and one sync, however many there are.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tachograph.core.canonical import Digester
from tachograph.core.errors import KeyRefused, StoreUnavailable
from tachograph.core.ports import KeyWrapper
from tachograph.core.sealing import SEALING_KEY_BYTES, RawPlace, Sealer, derived, taken_out
from tachograph.stores._aead import aes_gcm
from tachograph.stores._files import reason_of, sync_directory, sync_file
from tachograph.stores._forks import close_in_children
from tachograph.stores._raw_pack import SUFFIX, append, frame
from tachograph.stores._raw_run import RawRun
from tachograph.stores._run_key import RunKey, create_run_key, read_run_key, shred_run_key
from tachograph.stores._sources import fresh_key, random_bytes, spool_name

_KEY = "key"
_OPEN_RUNS_MAX = 8192
"""Runs whose keys are kept at hand: about a kilobyte each."""
_KNOWN_PACKS_MAX = 65_536
"""Packs known to be in their directories durably: below 20 MB."""


class _Keys(NamedTuple):
    """What is made of a run's data key."""

    names: Digester
    sealer: Sealer


class RawBodies:
    """The raw bodies of a home. Safe to use from several threads and processes.

    What is put is with the operating system after `write_out`, and durable after `sync`.

    Args:
        path: the directory; made when it is first needed.
        keys: keeps the keys of tenants.
    """

    def __init__(self, path: Path, keys: KeyWrapper) -> None:
        self.path: Final = path
        self._keys = keys
        self._lock = threading.Lock()
        self._life = spool_name()
        self._waiting: dict[str, list[bytes]] = {}
        self._unsynced: set[Path] = set()
        self._known: set[Path] = set()
        self._open: dict[str, _Keys] = {}
        close_in_children(self)

    def check_installed(self) -> None:
        """Return if what sealing needs is there.

        Raises:
            InvalidSetting: the extra `raw` is not installed.
        """
        aes_gcm(bytes(SEALING_KEY_BYTES))

    def begin(self, tenant: str, run_id: str) -> None:
        """See to it that a run has its key, durably, and that it can be used.

        Raises:
            InvalidSetting: the extra `raw` is not installed.
            KeyRefused: the tenant's key cannot be used.
            StoreUnavailable: the key's file cannot be written or read.
        """
        self._opened(tenant, run_id)

    def put(self, place: RawPlace, raw: bytes, redacted: bytes) -> None:
        """Keep the raw form of a body; nothing is kept of a run whose key was shredded.

        Raises:
            KeyRefused: the run has no key yet, and the tenant's cannot be used.
            StoreUnavailable: the key's file cannot be written or read.
        """
        keys = self._opened(place.tenant, place.run_id)
        if keys is None:
            return
        box = keys.sealer.seal(taken_out(raw, redacted), place.bound())
        with self._lock:
            self._waiting.setdefault(place.run_id, []).append(frame(place.name(keys.names), box))

    def write_out(self) -> None:
        """Hand everything put to the operating system; costs nothing where nothing was.

        Raises:
            StoreUnavailable: it could not be written.
        """
        if not self._waiting:
            return
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            for run_id, frames in waiting.items():
                path = self.directory_of(run_id) / f"{self._life}{SUFFIX}"
                try:
                    append(path, frames)
                except OSError as error:
                    raise StoreUnavailable(str(path), reason_of(error)) from error
                self._unsynced.add(path)

    def sync(self) -> None:
        """Make everything put durable; costs nothing where nothing was.

        Raises:
            StoreUnavailable: it may not be durable.
        """
        self.write_out()
        with self._lock:
            unsynced, self._unsynced = self._unsynced, set()
        for path in unsynced:
            try:
                sync_file(path)
                if path not in self._known:
                    sync_directory(path.parent)
                    if len(self._known) >= _KNOWN_PACKS_MAX:
                        self._known.clear()
                    self._known.add(path)
            except OSError as error:
                if not _is_shredded(path):
                    raise StoreUnavailable(str(path), reason_of(error)) from error

    def abandon(self) -> None:
        """Forget what was put and begin new packs: a forked child must not write into its parent's."""
        self._lock = threading.Lock()
        self._life = spool_name()
        self._waiting = {}
        self._unsynced = set()
        self._known = set()
        self._open = {}

    def keys(self) -> Iterator[RunKey]:
        """The key of every run that was recorded with raw bodies, shredded ones among them.

        Raises:
            StoreUnavailable: one cannot be read.
        """
        for directory in sorted(self.path.iterdir()) if self.path.is_dir() else ():
            found = read_run_key(directory / _KEY)
            if found is not None:
                yield found

    def run(self, run_id: str) -> RawRun:
        """The raw bodies of a run, for reading.

        Raises:
            InvalidSetting: the extra `raw` is not installed.
            KeyRefused: it was recorded without, its key was shredded, or the tenant's cannot be used.
            StoreUnavailable: something cannot be read.
        """
        found = read_run_key(self.directory_of(run_id) / _KEY)
        if found is None:
            raise KeyRefused("", run_id, "it was recorded without raw bodies (`Recorder(raw=True)` keeps them)")
        if found.wrapped is None:
            raise KeyRefused(found.tenant, run_id, "it was shredded, and with it everything raw of the run")
        keys = _made(self._keys.unwrap(found.tenant, run_id, found.wrapped))
        packs = sorted(self.directory_of(run_id).glob(f"*{SUFFIX}"))
        return RawRun(found.tenant, run_id, keys.names, keys.sealer, packs)

    def shred(self, run_id: str) -> bool:
        """Erase a run's key and thereby everything raw of it; False where there is nothing to erase.

        Copies elsewhere (backups, the blocks of some disks) need the tenant's key to be of any use: erase that, too, where
        they must not be.

        Raises:
            StoreUnavailable: it cannot be erased.
        """
        directory = self.directory_of(run_id)
        found = read_run_key(directory / _KEY)
        if found is None or found.wrapped is None:
            return False
        try:
            shred_run_key(directory / _KEY, found)
            for pack in directory.glob(f"*{SUFFIX}"):
                pack.unlink()
            sync_directory(directory)
        except OSError as error:
            raise StoreUnavailable(str(directory), reason_of(error)) from error
        self._open.pop(run_id, None)
        return True

    def directory_of(self, run_id: str) -> Path:
        """Where what belongs to a run lies, or would."""
        # Hashed: an id can then neither leave the directory nor be too long for a file name.
        return self.path / hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()

    def _opened(self, tenant: str, run_id: str) -> _Keys | None:
        """A run's keys, made where there are none; None where they were shredded."""
        known = self._open.get(run_id)
        if known is not None:
            return known
        path = self.directory_of(run_id) / _KEY
        found = read_run_key(path) or self._created(path, tenant, run_id)
        if found.tenant != tenant:
            raise KeyRefused(tenant, run_id, f"the run's key is that of tenant {found.tenant!r}")
        if found.wrapped is None:
            return None
        keys = _made(self._keys.unwrap(found.tenant, run_id, found.wrapped))
        with self._lock:
            while len(self._open) >= _OPEN_RUNS_MAX:
                del self._open[next(iter(self._open))]
            self._open[run_id] = keys
        return keys

    def _created(self, path: Path, tenant: str, run_id: str) -> RunKey:
        made = RunKey(run_id, tenant, self._keys.wrap(tenant, run_id, fresh_key()))
        try:
            ours = create_run_key(path, made)
        except OSError as error:
            raise StoreUnavailable(str(path), reason_of(error)) from error
        # Another process of the run may have come first: its key is the run's then.
        found = made if ours else read_run_key(path)
        assert found is not None
        return found


def _is_shredded(pack: Path) -> bool:
    """Whether a pack is gone because everything raw of its run was to go."""
    found = read_run_key(pack.with_name(_KEY))
    return found is not None and found.wrapped is None


def _made(key: bytes) -> _Keys:
    return _Keys(Digester(derived(key, b"name")), Sealer(key, aes_gcm, random_bytes))
