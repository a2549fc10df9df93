"""What a recorder has in one process: made when it is first needed, and made anew in a forked child."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from tachograph.core.boundary import Sources
from tachograph.core.canonical import encode_body
from tachograph.core.effects import Ledger
from tachograph.core.errors import UnserialisableValue
from tachograph.core.ports import Transport
from tachograph.core.redaction import RedactionPolicy
from tachograph.producers._in_process import InProcessTransport
from tachograph.producers._journal import Journal
from tachograph.producers._settings import Settings
from tachograph.producers._sources import wall_clock_ns
from tachograph.producers._texts import Texts
from tachograph.stores import Home


class Life:
    """Journal, ledger and the rest of one recorder in one process."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        redaction: RedactionPolicy,
        sources: Sources,
        transport: Transport,
        follow: Callable[[Path], None] | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._units: dict[str, int] = {}
        self.home = home
        self.sources = sources
        self.transport = transport
        self.redaction_version = redaction.version
        self._tenant = settings.tenant
        self._raw = home.raw if settings.raw else None
        self.journal = Journal(home, settings, redaction, wall_clock_ns(sources), follow)
        self.ledger = Ledger(settings.tenant, home.past_effects_beside(self.journal.spools))
        self.clean = Texts(lambda text: redaction.redact_text(text, home.digester)).clean

    def encoded(self, value: object, *, ordered: bool = True) -> bytes:
        """What a caller hands in, as canonical JSON.

        Args:
            value: anything that can be recorded.
            ordered: keep the order of dicts; see `encode_body`.

        Raises:
            UnserialisableValue: it cannot be written; a secret on the way to it is not in the error.
        """
        try:
            return encode_body(value, ordered=ordered)
        except UnserialisableValue as error:
            raise self.cleaned(error) from None

    def cleaned(self, error: UnserialisableValue) -> UnserialisableValue:
        """The error without a secret on the way to its value."""
        return UnserialisableValue(self.clean(error.path), error.type_name, self.clean(error.reason))

    def begin_raw(self, run_id: str) -> None:
        """See to it that the raw bodies of a run can be kept, where they are to be.

        Raises:
            KeyRefused: the tenant's key cannot be used.
            StoreUnavailable: the run's key cannot be written or read.
        """
        if self._raw is not None:
            self._raw.begin(self._tenant, run_id)

    def unit_began(self, run_id: str) -> None:
        """A unit of the run begins in this process."""
        with self._lock:
            self._units[run_id] = self._units.get(run_id, 0) + 1

    def unit_ended(self, run_id: str) -> None:
        """A unit of the run ended; after the last one its uncollected messages are dropped."""
        with self._lock:
            left = self._units[run_id] = self._units.get(run_id, 1) - 1
            if left > 0:
                return
            del self._units[run_id]
        if isinstance(self.transport, InProcessTransport):
            self.transport.forget(run_id)

    def claim_effect(self, name: str, key: str, effect_id: str) -> Callable[[], None]:
        """Keep every other process from executing an effect; returns what lets them.

        Raises:
            ReconciliationRequired: another process is executing it.
            StoreUnavailable: the claim cannot be written.
        """
        claims = self.home.effect_claims
        claim = claims.take(self._tenant, name, key, effect_id)
        return lambda: claims.release(claim)

    def claim(self, run_id: str, agent_id: str) -> int:
        """The next incarnation of an agent, never given to another process."""
        return self.home.claim_incarnation(run_id, agent_id)
