"""Messages between agents of one process: event loops and threads mixed."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable

from tachograph.core.boundary import Envelope


class _Receiver:
    """Somebody who waits for one envelope."""

    __slots__ = ("envelope", "wake")

    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake
        self.envelope: Envelope | None = None


class _Mailbox:
    """Either envelopes wait in it, or receivers."""

    __slots__ = ("envelopes", "receivers")

    def __init__(self) -> None:
        self.envelopes: deque[Envelope] = deque()
        self.receivers: deque[_Receiver] = deque()


class InProcessTransport:
    """Carries envelopes within a process, in the order of their delivery; each reaches one receiver, once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mailboxes: dict[tuple[str, str], _Mailbox] = {}

    def deliver(self, envelope: Envelope) -> None:
        """Hand an envelope over; from any thread."""
        key = (envelope.run_id, envelope.to_agent_id)
        with self._lock:
            mailbox = self._mailboxes.setdefault(key, _Mailbox())
            if not mailbox.receivers:
                mailbox.envelopes.append(envelope)
                return
            receiver = mailbox.receivers.popleft()
            receiver.envelope = envelope
            self._tidy(key, mailbox)
        receiver.wake()

    async def deliver_async(self, envelope: Envelope) -> None:
        """`deliver`, which never waits."""
        self.deliver(envelope)

    def collect(self, run_id: str, agent_id: str) -> Envelope:
        """Wait for the next envelope for an agent."""
        arrived = threading.Event()
        key = (run_id, agent_id)
        receiver = self._take_or_wait(key, arrived.set)
        if receiver.envelope is None:
            try:
                arrived.wait()
            except BaseException:
                self._withdraw(key, receiver)
                raise
        assert receiver.envelope is not None
        return receiver.envelope

    async def collect_async(self, run_id: str, agent_id: str) -> Envelope:
        """`collect` without blocking the event loop."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[None] = loop.create_future()
        key = (run_id, agent_id)
        receiver = self._take_or_wait(key, lambda: _wake(loop, arrived))
        if receiver.envelope is None:
            try:
                await arrived
            except BaseException:
                self._withdraw(key, receiver)
                raise
        assert receiver.envelope is not None
        return receiver.envelope

    def forget(self, run_id: str) -> None:
        """Drop what nobody collected in a run that is over."""
        with self._lock:
            for key in [key for key in self._mailboxes if key[0] == run_id]:
                if not self._mailboxes[key].receivers:
                    del self._mailboxes[key]

    def forked(self) -> None:
        """In a forked child: start empty. No lock is taken: whoever held it at the fork is not here."""
        self._lock = threading.Lock()
        self._mailboxes = {}

    def _take_or_wait(self, key: tuple[str, str], wake: Callable[[], None]) -> _Receiver:
        receiver = _Receiver(wake)
        with self._lock:
            mailbox = self._mailboxes.setdefault(key, _Mailbox())
            if mailbox.envelopes:
                receiver.envelope = mailbox.envelopes.popleft()
                self._tidy(key, mailbox)
            else:
                mailbox.receivers.append(receiver)
        return receiver

    def _withdraw(self, key: tuple[str, str], receiver: _Receiver) -> None:
        """A receiver stops waiting: what it was given in this moment goes to the next one, before all others."""
        with self._lock:
            mailbox = self._mailboxes.setdefault(key, _Mailbox())
            envelope, receiver.envelope = receiver.envelope, None
            if envelope is None:
                mailbox.receivers.remove(receiver)
            elif mailbox.receivers:
                following = mailbox.receivers.popleft()
                following.envelope = envelope
                following.wake()
            else:
                mailbox.envelopes.appendleft(envelope)
            self._tidy(key, mailbox)

    def _tidy(self, key: tuple[str, str], mailbox: _Mailbox) -> None:
        if not mailbox.envelopes and not mailbox.receivers:
            self._mailboxes.pop(key, None)


def _wake(loop: asyncio.AbstractEventLoop, arrived: asyncio.Future[None]) -> None:
    def finish() -> None:
        if not arrived.done():
            arrived.set_result(None)

    if _running() is loop:
        finish()
    else:
        loop.call_soon_threadsafe(finish)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
