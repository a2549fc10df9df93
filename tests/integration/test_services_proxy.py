"""Network faults are real ones: a proxy stands between clients and server, and heals without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from proxies import Link, kafka_behind_proxy, toxiproxy
from services import own
from tachograph.control.dev._ports import Ports


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Link.stall, RedisTimeoutError),
        (Link.cut, RedisConnectionError),
        (Link.reset, RedisConnectionError),
        (lambda link: link.cut_after(2), RedisConnectionError),
        (lambda link: link.latency(5_000), RedisTimeoutError),
    ],
    ids=["stall", "cut", "reset", "cut after", "latency"],
)
def test_a_fault_is_felt_and_heals(tmp_path: Path, fault: object, error: type[Exception]) -> None:
    """Through the proxy the client meets the fault; healed, the same address answers."""
    assert callable(fault)
    ports = Ports()
    with own("redis", tmp_path) as found, toxiproxy(tmp_path, found.servers[0].port, ports) as link:
        with Redis(port=link.port, socket_timeout=0.5, retry=None) as redis:
            assert redis.ping()
            fault(link)
            with pytest.raises(error):
                redis.ping()
        link.heal()
        with Redis(port=link.port) as redis:
            assert redis.ping()
    ports.release()


def test_kafka_is_reached_through_the_proxy_alone(tmp_path: Path) -> None:
    """The broker tells clients the proxy's address, so no client slips past a fault."""
    with kafka_behind_proxy(tmp_path) as (cluster, link):
        admin = AdminClient({"bootstrap.servers": cluster.address, "log_level": 0})
        (broker,) = admin.list_topics(timeout=10).brokers.values()
        assert broker.port == link.port
        link.cut()
        with pytest.raises(KafkaException):
            AdminClient({"bootstrap.servers": cluster.address, "log_level": 0}).list_topics(timeout=1)
        link.heal()
        assert AdminClient({"bootstrap.servers": cluster.address}).list_topics(timeout=10).brokers
