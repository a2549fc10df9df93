"""One life of a shipper's thread: connects, ships round after round, and tries again where servers do not answer."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

from tachograph.core.errors import TachographError
from tachograph.producers.shipper._counters import Counters
from tachograph.producers.shipper._means import connect, disconnect
from tachograph.producers.shipper._sweep import Sweeper
from tachograph.producers.shipper._transfer import GivenUp, Means, Transfer
from tachograph.stores.backend import Backend
from tachograph.stores.kafka import Failed

_LOG: Final = logging.getLogger("tachograph.shipper")

LOOK_SECONDS_MIN: Final = 0.05
LOOK_SECONDS_MAX: Final = 0.5
"""Between two looks for new events: doubled from the least to the most while there are none."""

RETRY_SECONDS_MIN: Final = 0.2
RETRY_SECONDS_MAX: Final = 10.0
"""Between two attempts while a server does not answer or refuses: doubled likewise."""


class Run:
    """Ships spools until it is stopped.

    Args:
        home: the directory of the home.
        backend: the servers.
        counters: what was done is added here.
    """

    def __init__(self, home: Path, backend: Backend, counters: Counters) -> None:
        self._home = home
        self._backend = backend
        self._counters = counters
        self._changed = threading.Condition()
        self._paths: list[Path] = []
        self._transfers: list[Transfer] = []
        self._current: Transfer | None = None
        self._means: Means | None = None
        self._stopping = False
        self._hurries = 0
        self._rounds = 0
        """How often nothing was left."""
        self._failing: str | None = None
        self._sweeper = Sweeper(home, backend)
        self._look_s, self._retry_s = LOOK_SECONDS_MIN, RETRY_SECONDS_MIN
        self._thread = threading.Thread(target=self._run, name="tachograph-shipper", daemon=True)

    def start(self) -> bool:
        """Start the thread. False: the interpreter is about to end and starts none."""
        try:
            self._thread.start()
        except RuntimeError:
            return False
        return True

    def follow(self, spool: Path) -> None:
        """Ship a spool from now on."""
        with self._changed:
            self._paths.append(spool)
            self._changed.notify_all()

    def drain(self, seconds: float) -> None:
        """Wait until everything that is there now is shipped, at most so long."""
        with self._changed:
            self._hurries += 1
            wanted = self._rounds + 2  # the round under way may have looked before the latest events were there
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._rounds >= wanted or self._stopping, seconds)
            self._hurries -= 1

    def connects(self, seconds: float) -> bool:
        """Wait for the first connection, where that is under way and every server answered so far; whether it is there now.

        A registry that has none of the schemas may take its time, and is not to be confused with one that is away.
        """
        with self._changed:
            if self._means is not None or self._failing is not None:
                return False
            self._changed.wait_for(lambda: self._means or self._failing or self._stopping, seconds)
            return self._means is not None

    def stop(self, seconds: float) -> None:
        """End the thread; it may stay within a call to a server that does not answer, and ends behind it."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(seconds)

    @property
    def spools(self) -> list[Path]:
        """Those that are looked after."""
        return [*(transfer.path for transfer in list(self._transfers)), *self._paths]

    @property
    def reason(self) -> str | None:
        """Why something waits, where a server does not answer or refuses."""
        return self._failing or self._complaint()

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._attempt()
        except GivenUp:
            pass  # whoever stopped it says what is left
        finally:
            self._end()

    def _attempt(self) -> None:
        try:
            moved = self._round()
        except GivenUp:
            raise
        except TachographError as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001 a bug of ours must neither end shipping nor harm the recording
            _LOG.exception("tachograph: shipping failed; it is tried again")
            self._failed(f"{type(error).__name__}: {error}")
        else:
            self._failing, self._retry_s = None, RETRY_SECONDS_MIN
            if moved or self._hurries or not self._sweeper.step():
                self._rest(moved)

    def _round(self) -> bool:
        """Ship a window of each spool; whether there was anything."""
        means = self._means
        if means is None:
            means = self._means = connect(
                self._home, self._backend, self._counters, self._refused, lambda: self._stopping
            )
            with self._changed:
                self._changed.notify_all()
        self._adopt(means)
        moved = False
        for transfer in list(self._transfers):
            self._current = transfer
            moved = transfer.step() or moved
            if transfer.is_over:
                transfer.close()
                self._transfers.remove(transfer)
        return moved

    def _adopt(self, means: Means) -> None:
        for path in list(self._paths):
            transfer = Transfer(path, means, self._counters)
            if transfer.open():
                self._transfers.append(transfer)
                self._paths.remove(path)

    def _refused(self, failed: Failed) -> None:
        assert self._current is not None
        self._current.refused(failed)

    def _rest(self, moved: bool) -> None:
        with self._changed:
            if moved:
                self._look_s = LOOK_SECONDS_MIN
                return
            self._rounds += 1
            self._changed.notify_all()
            if not self._hurries and not self._stopping:
                self._changed.wait(self._look_s)
                self._look_s = min(self._look_s * 2, LOOK_SECONDS_MAX)

    def _failed(self, reason: str) -> None:
        if self._failing is None:
            _LOG.warning("tachograph: events wait in the spool: %s", reason)
        self._failing = self._counters.latest_error = reason
        self._counters.failures += 1
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._stopping, self._retry_s)
        self._retry_s = min(self._retry_s * 2, RETRY_SECONDS_MAX)

    def _complaint(self) -> str | None:
        """What the producer says while it waits for brokers."""
        means = self._means
        if means is None:
            return None
        statistics = means.producer.statistics()
        return statistics.latest_error if statistics.waiting else None

    def _end(self) -> None:
        self._sweeper.close()
        for transfer in self._transfers:
            transfer.close()
        if self._means is not None:
            disconnect(self._means)
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
