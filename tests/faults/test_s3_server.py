"""An S3 server that stops, hangs, comes back, or answers with something else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from services import own, s3_settings
from tachograph.stores.backend import S3Settings, Secret
from tachograph.stores.s3 import Bucket, Patience, S3Refused, S3Unreachable

QUICK = Patience(connect_seconds=0.5, answer_seconds=0.5, retries=1, pause_seconds=0)


def test_a_server_that_hangs_is_given_up_and_found_again(tmp_path: Path) -> None:
    """Frozen in the middle of a connection, thawed, killed, started again: no call waits for ever."""
    with own("s3", tmp_path) as store:
        server = store.servers[0]
        settings = s3_settings(store.address, "bucket")
        bucket = Bucket(settings, patience=QUICK)
        assert bucket.put_new("a", b"a")
        server.freeze()
        with pytest.raises(S3Unreachable, match="does not answer"):
            bucket.get("a")
        server.thaw()
        patient = Bucket(settings)
        assert patient.get("a") == b"a"
        server.restart()
        assert patient.get("a") == b"a"
        server.kill()
        with pytest.raises(S3Unreachable, match=r"Connection refused|does not answer"):
            bucket.put_new("b", b"b")


_ANSWERS: dict[str, bytes] = {
    "503": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "slow down": b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: 43\r\n\r\n"
    b"<Error><Code>SlowDown</Code></Error>       ",
    "closed": b"",
    "half": b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: "x"\r\n\r\nhalf',
    "wrong bytes": b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "d41d8cd98f00b204e9800998ecf8427e"\r\n\r\nwrong',
    "no S3": b"SSH-2.0-OpenSSH_9\r\n",
    "bad XML": b"HTTP/1.1 404 Not Found\r\nContent-Type: application/xml\r\nContent-Length: 6\r\n\r\n<Error",
}


@pytest.mark.parametrize("answer", _ANSWERS.values(), ids=_ANSWERS.keys())
def test_an_answer_that_is_none_is_no_object(answer: bytes) -> None:
    """It is told as a store that cannot be used: never as an object, never as its absence."""
    _with_server(lambda _: answer, lambda bucket: _raises(S3Unreachable, bucket))


def test_clocks_that_differ_are_told() -> None:
    """The remedy is not in the keys."""
    body = b"<Error><Code>RequestTimeTooSkewed</Code><Message>The difference</Message></Error>"
    head = f"HTTP/1.1 403 Forbidden\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    def check(bucket: Bucket) -> None:
        with pytest.raises(S3Refused, match="clocks of this machine and of the server differ.*NTP"):
            bucket.get("a")

    _with_server(lambda _: head + body, check)


def test_a_lost_answer_is_asked_for_again() -> None:
    """Once the server says it can."""
    whole = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: "x"\r\n\r\nok'

    def check(bucket: Bucket) -> None:
        assert bucket.get("a") == b"ok"

    _with_server(lambda number: b"" if number == 0 else whole, check)


def test_what_a_server_keeps_of_a_put_is_looked_at() -> None:
    """A server that acknowledges and stores something else is found out before anybody relies on it."""
    put = b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: "somebody-else"\r\n\r\n'
    got = b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "x"\r\n\r\nother'

    def check(bucket: Bucket) -> None:
        with pytest.raises(S3Unreachable, match="not what was written"):
            bucket.put_new("a", b"bytes")

    _with_server(lambda number: put if number == 0 else got, check)


def _raises(kind: type[Exception], bucket: Bucket) -> None:
    with pytest.raises(kind):
        bucket.get("a")


def _with_server(answer: Callable[[int], bytes], check: Callable[[Bucket], None]) -> None:
    """A server that gives its n-th connection an answer and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stop = threading.Thread(target=_serve, args=(listener, answer))
        stop.start()
        port = listener.getsockname()[1]
        try:
            check(Bucket(S3Settings(f"http://127.0.0.1:{port}", "bucket", "key", Secret("secret")), patience=QUICK))
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            stop.join()


def _serve(listener: socket.socket, answer: Callable[[int], bytes]) -> None:
    number = 0
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.recv(65536)
            connection.sendall(answer(number))
        number += 1
