"""Faust as transport: the only module, beside `_credentials`, that imports it, and knows its ways.

An event counts as done only once its batch was applied: acknowledgement is by hand, one handler runs at a time, and no
exception leaves it, since Faust takes an event whose handler raised for done. The web server is off, there are no tables,
and topics are never made.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterable, Callable, Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Final, Literal, Protocol, cast

from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.stores.backend import KafkaSettings
from tachograph.stream_processors.insights._credentials import credentials_of
from tachograph.stream_processors.insights._step import Arrived

_LOG: Final = logging.getLogger("tachograph.insights")

BATCH_MAX: Final = 500
"""Events applied at once."""

BUFFER_MAX: Final = 4 * BATCH_MAX
"""Events that are taken from Faust while a batch is applied: servers are waited for meanwhile."""

WAIT_SECONDS: Final = 0.1
"""How long a batch that is not full waits for more."""

PATIENCE_SECONDS: Final = 120.0
"""How long servers may fail before the process gives up, for its supervisor to start it again."""

START_SECONDS: Final = 60.0
"""How long brokers have to let it into its group: one that is half-open would keep it waiting for ever."""

STOP_SECONDS: Final = 15.0
"""How long a stop may take: aiokafka waits for ever for a broker that is gone."""

METADATA_MS_MAX: Final = 5_000
"""How old what is known of topics may be. A member that joins while brokers fail knows none, and Faust gives it no
partitions then: it would read nothing until this is over."""

_PAUSE_SECONDS_MAX: Final = 5.0


class _Message(Protocol):
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class _Event(Protocol):
    message: _Message

    def ack(self) -> bool: ...


class _Stream(Protocol):
    def noack(self) -> _Stream: ...

    def events(self) -> AsyncIterable[_Event]: ...


class _Consumer(Protocol):
    async def commit(self) -> bool: ...


class _App(Protocol):
    consumer: _Consumer
    should_stop: bool
    crash_reason: BaseException | None

    def topic(self, *topics: str, **options: object) -> object: ...

    def agent(self, channel: object, **options: object) -> Callable[[object], object]: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class FaustTransport:
    """Feeds what topics bring to a handler, batch by batch, and acknowledges what it took.

    Args:
        settings: the cluster.
        group: the consumer group, shared by all instances.
        topics: their full names; they must exist.
        apply: takes a batch, in a thread of its own; `StoreUnavailable` makes it be tried again.
        idle: called about every second, in the same thread as `apply`.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        group: str,
        topics: Sequence[str],
        apply: Callable[[Sequence[Arrived]], None],
        idle: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._group = group
        self._topics = topics
        self._apply = apply
        self._idle = idle
        self._buffer: list[_Event] = []
        self._turn = asyncio.Lock()
        self._full = asyncio.Event()
        self._over = asyncio.Event()
        self._failure: Exception | None = None
        self._patience_seconds = PATIENCE_SECONDS
        self.events = 0
        """Acknowledged so far."""
        self.waits = False
        """Whether a server fails, so that nothing can be acknowledged."""
        self.alive_at = time.monotonic()
        """When the loop last came round: it is never blocked for long."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop, or until servers failed for PATIENCE_SECONDS.

        Raises:
            StoreUnavailable: they did; nothing that was not applied is acknowledged.
        """
        with TemporaryDirectory(prefix="tachograph-insights-") as directory:
            await self._run(_app(self._settings, self._group, directory), stop)

    async def _run(self, app: _App, stop: asyncio.Event) -> None:
        channel = app.topic(
            *self._topics, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"
        )
        app.agent(channel, concurrency=1)(self._handle)
        stopping = asyncio.create_task(stop.wait())
        over = asyncio.create_task(self._over.wait())
        if await self._started(app, [stopping, over]):
            ticking = asyncio.create_task(self._tick(app))
            await asyncio.wait([stopping, over, ticking], return_when=asyncio.FIRST_COMPLETED)
            self._patience_seconds = min(self._patience_seconds, STOP_SECONDS)
            async with self._turn:
                ticking.cancel()  # not while it applies a batch, which would then be applied once more
            await self._flush()
            for _ in range(2):
                # A commit that goes on already does not know of the last batch, and Faust then only waits for it.
                with suppress(TimeoutError):
                    await asyncio.wait_for(app.consumer.commit(), STOP_SECONDS)
        stopping.cancel()
        over.cancel()
        with suppress(TimeoutError):
            await asyncio.wait_for(app.stop(), STOP_SECONDS)
        if self._failure is not None:
            raise self._failure

    async def _started(self, app: _App, ends: Sequence[asyncio.Task[Literal[True]]]) -> bool:
        """Whether Faust works; False where it is to end before, or no broker lets it: then it raises, or hangs."""
        starting = asyncio.create_task(app.start())
        await asyncio.wait([starting, *ends], timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        store = f"kafka {self._settings.bootstrap}"
        if not starting.done():  # half started, it would leave threads and connections behind
            await asyncio.wait([starting], timeout=STOP_SECONDS)
        if not starting.done():
            starting.cancel()
            if not any(end.done() for end in ends):
                self.give_up(StoreUnavailable(store, f"Faust did not start within {START_SECONDS:.0f} s"))
            return False
        error = starting.exception()
        if error is not None:
            self.give_up(StoreUnavailable(store, f"Faust cannot start: {error!r}"))
        return error is None

    async def _handle(self, stream: _Stream) -> None:
        async for event in stream.noack().events():
            self._buffer.append(event)
            if len(self._buffer) >= BATCH_MAX:
                self._full.set()
            if len(self._buffer) >= BUFFER_MAX:
                await self._flush()

    async def _tick(self, app: _App) -> None:
        idle_at = time.monotonic()
        while True:
            await self._filled()
            self.alive_at = time.monotonic()
            if app.should_stop:
                reason = f"Faust stopped by itself: {app.crash_reason!r}"
                self.give_up(StoreUnavailable(f"kafka {self._settings.bootstrap}", reason))
                return
            await self._flush()
            if self.alive_at - idle_at >= 1:
                idle_at = self.alive_at
                async with self._turn:
                    await self._patiently(self._idle)

    async def _filled(self) -> None:
        """Until a batch is full, or has waited for long enough."""
        if len(self._buffer) < BATCH_MAX:
            self._full.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._full.wait(), WAIT_SECONDS)

    async def _flush(self) -> None:
        """Apply and acknowledge what has come; where that fails for good, nothing is acknowledged any more."""
        async with self._turn:
            batch = self._buffer[:BATCH_MAX]
            if not batch or self._failure is not None:
                return
            arrived = [_arrived(event.message) for event in batch]
            if await self._patiently(lambda: self._apply(arrived)):
                for event in batch:
                    event.ack()
                del self._buffer[: len(batch)]
                self.events += len(batch)

    async def _patiently(self, work: Callable[[], None]) -> bool:
        """Do it, again and again while servers fail; False once patience is at its end or something else went wrong."""
        began = time.monotonic()
        pause = 0.1
        while True:
            try:
                await asyncio.get_running_loop().run_in_executor(None, work)
            except StoreUnavailable as error:
                if not self.waits:
                    _LOG.warning("tachograph: findings wait: %s", error)
                self.waits = True
                if time.monotonic() - began > self._patience_seconds:
                    return self.give_up(error)
                await asyncio.sleep(pause)
                pause = min(pause * 2, _PAUSE_SECONDS_MAX)
                self.alive_at = time.monotonic()
            except Exception as error:  # noqa: BLE001 Faust would take the events for done
                return self.give_up(error)
            else:
                self.waits = False
                return True

    def give_up(self, error: Exception) -> bool:
        """End, with nothing more acknowledged; `run` raises the error. Returns False."""
        self._failure = error
        self._over.set()
        return False


def _arrived(message: _Message) -> Arrived:
    return Arrived(message.topic, message.partition, message.offset, message.key, message.value)


def _app(settings: KafkaSettings, group: str, directory: str) -> _App:
    """A new application; Faust is imported here, since importing it looks at the command line."""
    try:
        import faust
    except ImportError as error:
        needed = "insights need Faust; install it with `pip install 'tachograph[processors]'`"
        raise InvalidSetting("process", "insights", needed) from error
    app = faust.App(
        group,
        broker=";".join(f"kafka://{server.strip()}" for server in settings.bootstrap.split(",")),
        broker_credentials=credentials_of(settings),
        broker_session_timeout=10.0,
        consumer_auto_offset_reset="earliest",
        consumer_metadata_max_age_ms=METADATA_MS_MAX,
        store="memory://",
        datadir=directory,  # Faust makes it although nothing is stored; by default where the process was started
        key_serializer="raw",
        value_serializer="raw",
        autodiscover=False,
        stream_wait_empty=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
    )
    return cast("_App", app)
