"""A bucket of an S3 store: the only module that knows the minio client and its exceptions."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

from tachograph.core.errors import InvalidSetting
from tachograph.stores._forks import close_in_children
from tachograph.stores.backend import S3Settings
from tachograph.stores.s3._errors import S3Refused, S3Unreachable

try:
    import urllib3
    from minio import Minio
    from minio.error import InvalidResponseError, MinioException, S3Error, ServerError
    from urllib3.exceptions import HTTPError, MaxRetryError
except ImportError as error:
    needed = "reaching it needs the minio client; install it with `pip install 'tachograph[cluster]'`"
    raise InvalidSetting("TACHO_S3_URL", "…", needed) from error

_ABSENT: Final = frozenset({"NoSuchKey", "NoSuchObject"})

_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP answers that mean: later."""

_MD5_HEX = 32


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call waits for the server; all of it together is bounded."""

    connect_seconds: float = 5
    """For a connection."""
    answer_seconds: float = 20
    """For each part of an answer; 64 MiB at 4 MiB/s arrive in parts."""
    retries: int = 3
    """Further attempts where the server did not answer or said: later."""
    pause_seconds: float = 0.2
    """Before the second retry; twice as long before each one after it."""


class Bucket:
    """A bucket in which a name, once written, keeps its bytes. Safe for several threads; a forked child connects anew.

    Every call raises `S3Unreachable` where the server does not answer within the patience given, and `S3Refused` where
    it refuses; both are `StoreUnavailable` and name the endpoint, never a secret.

    Args:
        settings: where it is.
        patience: how long to wait.
        connections: how many are kept open, for as many threads.
    """

    def __init__(self, settings: S3Settings, *, patience: Patience = Patience(), connections: int = 8) -> None:
        self.endpoint: Final = f"{settings.url}/{settings.bucket}"
        self._settings = settings
        self._patience = patience
        self._connections = connections
        close_in_children(self)

    def ensure(self) -> None:
        """Make the bucket if it is missing; several may do so at once."""
        with self._translated():
            if not self._client.bucket_exists(self._settings.bucket):
                try:
                    self._client.make_bucket(self._settings.bucket)
                except S3Error as error:
                    if error.code not in {"BucketAlreadyOwnedByYou", "BucketAlreadyExists"}:
                        raise

    def require(self) -> None:
        """Refuse to begin where the bucket is known to be missing: some servers make one for whoever writes.

        A server that does not answer, or does not tell, says nothing of it.

        Raises:
            InvalidSetting: it is missing.
        """
        try:
            with self._translated():
                known = self._client.bucket_exists(self._settings.bucket)
        except (S3Unreachable, S3Refused):
            return
        if not known:
            reason = f"there is no such bucket at {self._settings.url}; make it, or name the one that has the archive"
            raise InvalidSetting("TACHO_S3_BUCKET", self._settings.bucket, reason)

    def put_new(self, name: str, data: bytes) -> bool:
        """Write a name that is not there yet; it is there whole or not at all, and verified when this returns.

        Of writers at once one wins. A retry after an answer that was lost finds its own bytes, and says False.

        Returns:
            False where the name was there already, with whatever bytes.
        """
        try:
            self._put(name, data, {"If-None-Match": "*"})
        except S3Refused as refused:
            if refused.status != 412:
                raise
            return False
        return True

    def mend(self, name: str, data: bytes) -> None:
        """Write a name whose bytes were found damaged. For content-addressed names only: the bytes are the only right ones."""
        self._put(name, data, {})

    def get(self, name: str) -> bytes | None:
        """The bytes under a name, or None."""
        answer = self._ask("GET", name)
        if answer is None:
            return None
        if not _is_whole(answer.data, answer.headers):
            raise S3Unreachable(self.endpoint, f"the bytes of {name!r} that arrived are not those that it has stored")
        return answer.data

    def get_range(self, name: str, start: int, size: int) -> bytes | None:
        """`size` bytes from `start`, fewer where the object ends; None where there is no such name.

        Args:
            name: of the object.
            start: offset in bytes; negative: from the end, and `size` is not looked at.
            size: in bytes, at least 1.
        """
        wanted = f"bytes={start}" if start < 0 else f"bytes={start}-{start + size - 1}"
        try:
            answer = self._ask("GET", name, headers={"Range": wanted})
        except S3Refused as refused:
            if refused.status != 416:
                raise
            return b""
        if answer is None:
            return None
        if answer.status == 206:
            return answer.data
        # A server that knows no ranges sends everything.
        return answer.data[start:] if start < 0 else answer.data[start : start + size]

    def names(self, prefix: str, after: str = "") -> Iterator[str]:
        """The names that begin with `prefix`; within one folder in the order of their bytes.

        Args:
            prefix: what they begin with.
            after: only names behind this one; of use within one folder only, servers order folders as they like.
        """
        with self._translated():
            found = self._client.list_objects(
                self._settings.bucket, prefix=prefix, recursive=True, start_after=after or None
            )
            for item in found:
                name = item.object_name
                # Some servers begin with the name itself, or list folders.
                if name is not None and name > after and not name.endswith("/"):
                    yield name

    def folders(self, prefix: str) -> Iterator[str]:
        """The folders right below a folder; each ends in a `/`, as `prefix` must."""
        with self._translated():
            for item in self._client.list_objects(self._settings.bucket, prefix=prefix):
                if item.object_name is not None and item.object_name.endswith("/") and item.object_name != prefix:
                    yield item.object_name

    def remove(self, name: str) -> None:
        """Delete a name; nothing happens where there is none."""
        self._ask("DELETE", name)

    def abandon(self) -> None:
        """Connect anew at the next call; a forked child does, the sockets are its parent's."""
        self.__dict__.pop("_client", None)

    @cached_property
    def _client(self) -> Minio:
        settings, patience = self._settings, self._patience
        url = urlsplit(settings.url)
        pool = urllib3.PoolManager(
            num_pools=2,
            maxsize=self._connections,
            timeout=urllib3.Timeout(connect=patience.connect_seconds, read=patience.answer_seconds),
            retries=urllib3.Retry(
                total=patience.retries,
                redirect=0,
                backoff_factor=patience.pause_seconds,
                backoff_max=patience.answer_seconds,
                status_forcelist=_PASSING,
                allowed_methods=None,
                raise_on_status=False,
            ),
        )
        return Minio(
            url.netloc,
            access_key=settings.access_key,
            secret_key=settings.secret_key.text,
            secure=url.scheme == "https",
            region=settings.region,
            http_client=pool,
        )

    def _put(self, name: str, data: bytes, headers: Mapping[str, str]) -> None:
        """Write and verify: by the server's digest where it gives one, else by reading back."""
        digest = hashlib.md5(data, usedforsecurity=False)
        told = {"Content-MD5": base64.b64encode(digest.digest()).decode(), **headers}
        answer = self._ask("PUT", name, data, told)
        if answer is None:
            raise S3Refused(self.endpoint, "NoSuchKey", 404)
        if _digest_of(answer.headers) != digest.hexdigest() and self.get(name) != data:
            raise S3Unreachable(self.endpoint, f"what was read back of {name!r} is not what was written")

    def _ask(
        self, method: str, name: str, data: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> urllib3.BaseHTTPResponse | None:
        """The server's answer, None where there is no such name."""
        # The public methods take no condition, and read a body outside of the pool's retries.
        execute = cast("Callable[..., urllib3.BaseHTTPResponse]", self._client._execute)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        try:
            with self._translated():
                return execute(method, self._settings.bucket, name, body=data, headers=dict(headers or {}))
        except S3Refused as refused:
            if refused.code in _ABSENT:
                return None
            raise

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except S3Error as error:
            raise self._refused(error.code or "no code", error.response.status) from error
        except (ServerError, InvalidResponseError) as error:
            raise self._refused("no reason that could be read", _status_of(error)) from error
        except MaxRetryError as error:
            raise S3Unreachable(self.endpoint, _reason_of(error.reason or error)) from error
        except HTTPError as error:
            raise S3Unreachable(self.endpoint, _reason_of(error)) from error
        except (MinioException, ParseError, UnicodeDecodeError) as error:
            raise S3Unreachable(self.endpoint, "it does not answer as an S3 store does") from error

    def _refused(self, code: str, status: int) -> S3Refused | S3Unreachable:
        if status in _PASSING or code == "SlowDown":
            return S3Unreachable(self.endpoint, f"it says that it cannot now: {code}, HTTP {status}")
        return S3Refused(self.endpoint, code, status)


def _status_of(error: ServerError | InvalidResponseError) -> int:
    return error.status_code if isinstance(error, ServerError) else error._code  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def _reason_of(error: Exception) -> str:
    """The kind of failure; texts of urllib3 name the whole connection."""
    text = str(error)
    return f"it does not answer: {type(error).__name__}, {text.rpartition(': ')[2] or text}"


def _digest_of(headers: Mapping[str, str]) -> str | None:
    """The MD5 of an object's bytes in hex; None where the server's tag is something else, as of encrypted objects."""
    tag = headers.get("ETag", "").strip('"')
    return tag if len(tag) == _MD5_HEX and not headers.get("x-amz-server-side-encryption") else None


def _is_whole(data: bytes, headers: Mapping[str, str]) -> bool:
    digest = _digest_of(headers)
    return digest is None or digest == hashlib.md5(data, usedforsecurity=False).hexdigest()
