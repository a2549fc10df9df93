"""The raw bodies of one run, for reading: found by name, opened, and put together with the redacted ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tachograph.core.canonical import Digester
from tachograph.core.errors import RawUnavailable, SealBroken, StoreUnavailable
from tachograph.core.sealing import RawPlace, Sealer, put_back
from tachograph.schemas import Body
from tachograph.stores._files import reason_of
from tachograph.stores._raw_pack import PackPlace, places


class RawRun:
    """Opens raw bodies of a run.

    Args:
        tenant: its owner.
        run_id: the run.
        names: gives the names under which bodies lie.
        sealer: opens them.
        packs: the files that they lie in.

    Raises:
        StoreUnavailable: a pack cannot be read.
    """

    def __init__(self, tenant: str, run_id: str, names: Digester, sealer: Sealer, packs: Sequence[Path]) -> None:
        self._tenant = tenant
        self._run_id = run_id
        self._names = names
        self._sealer = sealer
        self._places: dict[bytes, list[PackPlace]] = {}
        for pack in packs:
            self._take(pack)

    def has(self, event_id: str, field: str, body: Body) -> bool:
        """Whether something lies under a body's name."""
        return self._place(event_id, field, body).name(self._names) in self._places

    def check(self, event_id: str, field: str, body: Body) -> None:
        """Return if the raw form of a redacted body is there, and is what was sealed beside it.

        Raises:
            RawUnavailable: it is not.
        """
        self._opened(event_id, field, body)

    def read(self, event_id: str, field: str, body: Body, redacted: bytes) -> bytes:
        """The raw form of a body: canonical JSON, as it was before redaction.

        Args:
            event_id: the event that carries it.
            field: the field that holds it.
            body: as the event has it.
            redacted: its bytes.

        Raises:
            RawUnavailable: it is not there, or is not what was sealed.
        """
        if not body.redacted:
            return redacted
        try:
            return put_back(redacted, self._opened(event_id, field, body))
        except SealBroken as error:
            raise RawUnavailable(event_id, field, error.reason) from error

    def _opened(self, event_id: str, field: str, body: Body) -> bytes:
        place = self._place(event_id, field, body)
        reason = "nothing lies under its name"
        # Whoever adds a box under a name that is taken must not thereby hide the one that belongs there.
        for candidate in self._places.get(place.name(self._names), ()):
            try:
                return self._sealer.open(candidate.read(), place.bound())
            except SealBroken as error:
                reason = error.reason
            except OSError as error:
                reason = reason_of(error)
        raise RawUnavailable(event_id, field, reason)

    def _place(self, event_id: str, field: str, body: Body) -> RawPlace:
        return RawPlace(self._tenant, self._run_id, event_id, field, body.digest)

    def _take(self, pack: Path) -> None:
        try:
            for name, place in places(pack):
                self._places.setdefault(name, []).append(place)
        except OSError as error:
            raise StoreUnavailable(str(pack), reason_of(error)) from error
