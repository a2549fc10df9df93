"""A connection to Redis: the only module that knows the redis client and its exceptions."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol, cast
from urllib.parse import urlsplit

from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.stores._forks import close_in_children
from tachograph.stores.backend import RedisSettings

try:
    import redis
    from redis.backoff import ExponentialBackoff
    from redis.exceptions import BusyLoadingError, ConnectionError, NoScriptError, RedisError, TimeoutError  # noqa: A004
    from redis.retry import Retry
except ImportError as error:
    needed = "reaching it needs the redis client; install it with `pip install 'tachograph[cluster]'`"
    raise InvalidSetting("TACHO_REDIS_URL", "…", needed) from error

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 20.0
_RETRIES: Final = 3

Argument = bytes | str | int


class _Commands(Protocol):
    """What is used of the redis client, whose own types leave open what a command takes and gives."""

    def execute_command(self, *words: Argument) -> object: ...

    def close(self) -> None: ...


class _Pipeline(_Commands, Protocol):
    def execute(self) -> list[object]: ...


class _Server(_Commands, Protocol):
    def pipeline(self, *, transaction: bool) -> _Pipeline: ...


class Client:
    """Commands to one server; each waits a bounded time. Safe for several threads; a forked child connects anew.

    Every call raises `StoreUnavailable` where the server does not answer or refuses; it names the server, never a secret.

    Args:
        settings: where it is.
    """

    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings
        self._connected: _Server | None = None
        parts = urlsplit(settings.url.text)
        self.name: Final = f"redis {parts.hostname}:{parts.port or 6379}{parts.path}"
        close_in_children(self)

    def call(self, *words: Argument) -> object:
        """One command's answer: bytes, whole numbers, None, and lists of these."""
        with self._translated():
            return self._server.execute_command(*words)

    def calls(self, commands: Sequence[Sequence[Argument]]) -> list[object]:
        """Several commands in one round trip, each on its own; their answers in order."""
        with self._translated():
            pipeline = self._server.pipeline(transaction=False)
            for words in commands:
                pipeline.execute_command(*words)
            return pipeline.execute()

    def script(self, text: str, keys: Sequence[str], arguments: Sequence[Argument]) -> object:
        """Run a Lua script; the server keeps it, and is told it again when it has forgotten."""
        digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        with self._translated():
            try:
                return self._server.execute_command("EVALSHA", digest, len(keys), *keys, *arguments)
            except NoScriptError:
                return self._server.execute_command("EVAL", text, len(keys), *keys, *arguments)

    def close(self) -> None:
        """Let go of the connections."""
        connected, self._connected = self._connected, None
        if connected is not None:
            connected.close()

    def abandon(self) -> None:
        """Forget the connections without a word to the server: they are the parent's."""
        self._connected = None

    @property
    def _server(self) -> _Server:
        if self._connected is None:
            # The client's own retries: a lost connection is opened again, an answer is not waited for twice as long.
            connection = redis.Redis.from_url(  # pyright: ignore[reportUnknownMemberType] # it takes any option
                self._settings.url.text,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                retry=Retry(ExponentialBackoff(cap=1, base=0.05), _RETRIES),
                retry_on_error=[ConnectionError, BusyLoadingError],
                protocol=2,
            )
            # By default an answer's shape depends on the command's name, and changes between releases of the client.
            connection.response_callbacks.clear()
            self._connected = cast("_Server", connection)
        return self._connected

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except TimeoutError as error:
            raise StoreUnavailable(self.name, f"it did not answer within {ANSWER_SECONDS:.0f} s") from error
        except RedisError as error:
            raise StoreUnavailable(self.name, _reason(error)) from error


def _reason(error: RedisError) -> str:
    """What the server or the system says, without what we sent."""
    return str(error).partition("\n")[0][:200] or type(error).__name__
