"""Messages between processes of one machine: files in a directory, as a maildir holds mail.

`DIRECTORY/RUN/AGENT/{writing,new,taken}/NAME`: a message is written under `writing`, renamed into `new`, renamed into
`taken` by the one process that gets it, and removed once its MessageReceived is recorded. Names begin with the sender's
hybrid clock, so that one sender's messages are taken in the order in which they were sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson

from tachograph.core.boundary import Envelope
from tachograph.core.canonical import decode_body, encode_body
from tachograph.core.errors import StoreUnavailable, TachographError

_LOG = logging.getLogger("tachograph.producers")

POLL_INTERVAL_S_MIN = 0.001
POLL_INTERVAL_S_MAX = 0.05
"""Between two looks into an empty mailbox: doubled from the least to the most."""

_WRITING, _NEW, _TAKEN = "writing", "new", "taken"


class DirectoryTransport:
    """Carries envelopes through files; any number of processes share the directory.

    Args:
        path: the directory; made when it is not there.
        durable: make each message survive a crash of the machine, not only of a process.
    """

    def __init__(self, path: Path | str, *, durable: bool = False) -> None:
        self.path = Path(path)
        self._durable = durable

    def deliver(self, envelope: Envelope) -> None:
        """Hand an envelope over.

        Raises:
            StoreUnavailable: the message could not be written; it was not sent.
        """
        mailbox = self._mailbox(envelope.run_id, envelope.to_agent_id)
        name = _name(envelope)
        writing = mailbox / _WRITING / name
        try:
            if not writing.parent.exists():
                _make(mailbox)
            self._write(writing, _to_bytes(envelope))
            writing.rename(mailbox / _NEW / name)
            if self._durable:
                _sync(mailbox / _NEW)
        except OSError as error:
            raise StoreUnavailable(str(writing), f"{error.strerror or error} (errno {error.errno})") from error

    async def deliver_async(self, envelope: Envelope) -> None:
        """`deliver`: writing a small file does not give way, so that a replay, which has none, does not differ."""
        self.deliver(envelope)

    def collect(self, run_id: str, agent_id: str) -> Envelope:
        """Wait for the next envelope for an agent."""
        pause = threading.Event()
        for interval_s in _intervals():
            envelope = self._take(run_id, agent_id)
            if envelope is not None:
                return envelope
            pause.wait(interval_s)
        raise AssertionError("the intervals never end")

    async def collect_async(self, run_id: str, agent_id: str) -> Envelope:
        """`collect` without blocking the event loop."""
        for interval_s in _intervals():
            envelope = self._take(run_id, agent_id)
            if envelope is not None:
                return envelope
            await asyncio.sleep(interval_s)
        raise AssertionError("the intervals never end")

    def settled(self, envelope: Envelope) -> None:
        """The envelope's MessageReceived is recorded: its file is no longer needed."""
        mailbox = self._mailbox(envelope.run_id, envelope.to_agent_id)
        (mailbox / _TAKEN / _name(envelope)).unlink(missing_ok=True)

    def recover(self, run_id: str, agent_id: str, received: frozenset[str]) -> int:
        """Offer again what a dead process of an agent had taken, and did not come to record.

        Args:
            run_id: the run.
            agent_id: the agent; no other process may be living it.
            received: ids of the messages that are recorded as received; these are not offered again.

        Returns:
            How many messages are offered again.
        """
        mailbox = self._mailbox(run_id, agent_id)
        count = 0
        for name in _names(mailbox / _TAKEN):
            envelope = _read(mailbox / _TAKEN / name)
            if envelope is None or envelope.message_id in received:
                (mailbox / _TAKEN / name).unlink(missing_ok=True)
                continue
            (mailbox / _TAKEN / name).rename(mailbox / _NEW / name)
            count += 1
        return count

    def _take(self, run_id: str, agent_id: str) -> Envelope | None:
        mailbox = self._mailbox(run_id, agent_id)
        for name in _names(mailbox / _NEW):
            try:
                (mailbox / _NEW / name).rename(mailbox / _TAKEN / name)
            except FileNotFoundError:  # another process took it
                continue
            envelope = _read(mailbox / _TAKEN / name)
            if envelope is not None and (envelope.run_id, envelope.to_agent_id) == (run_id, agent_id):
                return envelope
            _LOG.warning(
                "tachograph: %s is not a message for %s; it stays there, unread", mailbox / _TAKEN / name, agent_id
            )
        return None

    def _mailbox(self, run_id: str, agent_id: str) -> Path:
        # Hashed: an id can then neither leave the directory nor be too long for a file name.
        return self.path / _hashed(run_id) / _hashed(agent_id)

    def _write(self, path: Path, data: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
            if self._durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _make(mailbox: Path) -> None:
    for name in (_NEW, _TAKEN, _WRITING):
        (mailbox / name).mkdir(parents=True, exist_ok=True)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _intervals() -> Iterator[float]:
    interval_s = POLL_INTERVAL_S_MIN
    while True:
        yield interval_s
        interval_s = min(2 * interval_s, POLL_INTERVAL_S_MAX)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except FileNotFoundError:
        return []


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _name(envelope: Envelope) -> str:
    return f"{envelope.hlc:020d}-{_hashed(envelope.from_agent_id)}-{envelope.incarnation}-{envelope.seq}"


def _to_bytes(envelope: Envelope) -> bytes:
    head = {
        "run_id": envelope.run_id,
        "message_id": envelope.message_id,
        "from_agent_id": envelope.from_agent_id,
        "to_agent_id": envelope.to_agent_id,
        "incarnation": envelope.incarnation,
        "seq": envelope.seq,
        "hlc": envelope.hlc,
        "hash": envelope.hash,
    }
    return orjson.dumps(head) + b"\n" + encode_body(envelope.body)


def _read(path: Path) -> Envelope | None:
    """The envelope in a file; None where the file is not one."""
    try:
        head_bytes, body = path.read_bytes().split(b"\n", 1)
        head = orjson.loads(head_bytes)
        texts = [head[name] for name in ("run_id", "message_id", "from_agent_id", "to_agent_id", "hash")]
        numbers = [head[name] for name in ("incarnation", "seq", "hlc")]
        if not all(type(text) is str for text in texts) or not all(type(number) is int for number in numbers):
            return None
        run_id, message_id, from_agent_id, to_agent_id, digest = texts
        incarnation, seq, hlc = numbers
        value = decode_body(body)
        return Envelope(run_id, message_id, from_agent_id, to_agent_id, value, incarnation, seq, hlc, digest)
    except (OSError, ValueError, KeyError, TypeError, TachographError):
        return None
