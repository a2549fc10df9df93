"""Whether a server does its work, asked in its own protocol: an open port says little."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import socket
import struct
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tachograph.control.dev._ports import HOST

_SECONDS_MAX = 5.0
_METADATA = 3
_METADATA_VERSION = 4
"""Of Kafka's protocol (kafka.apache.org/protocol): the newest before its "flexible" encoding."""


def kafka_brokers(port: int) -> int:
    """How many brokers a broker's metadata lists.

    Raises:
        OSError: it does not answer.
    """
    client = b"tacho"
    # Request header 1, then: an empty list of topics, no topics made.
    head = struct.pack(">hhih", _METADATA, _METADATA_VERSION, 1, len(client)) + client
    body = struct.pack(">i?", 0, False)
    with socket.create_connection((HOST, port), _SECONDS_MAX) as connection:
        connection.sendall(struct.pack(">i", len(head + body)) + head + body)
        size = struct.unpack(">i", _exactly(connection, 4))[0]
        answer = _exactly(connection, min(size, 1 << 20))
    # Correlation id, throttle time, then the brokers.
    count: int = struct.unpack_from(">iii", answer)[2]
    return count


def redis_answers(port: int) -> bool:
    """Whether Redis says PONG.

    Raises:
        OSError: it does not answer.
    """
    with socket.create_connection((HOST, port), _SECONDS_MAX) as connection:
        connection.sendall(b"PING\r\n")
        return _exactly(connection, 5) == b"+PONG"


def registry_answers(port: int) -> bool:
    """Whether the registry lists its subjects in Confluent's API.

    Raises:
        OSError: it does not answer.
    """
    return _http(port, "GET", "/apis/ccompat/v7/subjects", {}, b"")[0] == http.HTTPStatus.OK


def s3_works(port: int, bucket: str, access_key: str, secret_key: str) -> bool:
    """Whether what is put can be got, in the bucket, which is made.

    Raises:
        OSError: it does not answer.
    """
    made = _s3(port, "PUT", f"/{bucket}", b"", access_key, secret_key)[0]
    if made not in {http.HTTPStatus.OK, http.HTTPStatus.CONFLICT}:
        return False
    name = f"/{bucket}/.tacho-ready"
    put = _s3(port, "PUT", name, b"ready", access_key, secret_key)[0]
    return put == http.HTTPStatus.OK and _s3(port, "GET", name, b"", access_key, secret_key)[1] == b"ready"


def _s3(port: int, method: str, path: str, body: bytes, access_key: str, secret_key: str) -> tuple[int, bytes]:
    """One request under AWS Signature Version 4 (docs.aws.amazon.com, "Authenticating Requests")."""
    stamp = _server_time(port).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": f"{HOST}:{port}", "x-amz-content-sha256": digest, "x-amz-date": stamp}
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    canonical = f"{method}\n{path}\n\n{lines}\n{names}\n{digest}"
    scope = f"{stamp[:8]}/us-east-1/s3/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return _http(port, method, path, headers, body)


def _server_time(port: int) -> datetime:
    """The server's own clock, which a signature must agree with."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_SECONDS_MAX)
    try:
        connection.request("HEAD", "/")
        date = connection.getresponse().headers["Date"]
    finally:
        connection.close()
    return parsedate_to_datetime(date).astimezone(UTC)


def _http(port: int, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, port, timeout=_SECONDS_MAX)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    except http.client.HTTPException as error:
        raise ConnectionError(str(error)) from error
    finally:
        connection.close()


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the connection was closed")
        data += part
    return data
