"""`tacho dev up --brokers 3`: a cluster whose dead broker is told and comes back alone."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from cli import tacho
from tachograph.control.dev._process import Process, identity, kill


def test_a_cluster_bears_the_loss_of_a_broker(tmp_path: Path) -> None:
    """One start serves both: it takes a while."""
    done = tacho("--home", tmp_path, "dev", "up", "--brokers", "3", "--services", "kafka")
    try:
        assert done.code == 0, done.err
        a_dead_broker_comes_back_alone(tmp_path)
        a_taken_port_of_a_dead_broker_is_told(tmp_path)
    finally:
        tacho("--home", tmp_path, "dev", "down")


def brokers(home: Path) -> dict[str, dict[str, Any]]:
    """What `tacho dev status` says of each broker."""
    found = tacho("--home", home, "dev", "status", "--json").result["servers"]
    return {server["name"]: server for server in found}


def process_of(broker: dict[str, Any]) -> Process:
    """The process of a broker that runs."""
    found = identity(broker["pid"])
    assert found is not None
    return found


def a_dead_broker_comes_back_alone(home: Path) -> None:
    """Killed with SIGKILL: status says so, `up` starts that one, the others never notice."""
    before = brokers(home)
    assert [broker["healthy"] for broker in before.values()] == [True] * 3
    kill([process_of(before["kafka-2"])])
    status = tacho("--home", home, "dev", "status")
    assert status.code == 2
    assert "not running" in status.out
    again = tacho("--home", home, "dev", "up", "--services", "kafka", "--json").result
    assert again["started"] == ["kafka-2"]
    after = brokers(home)
    assert [broker["healthy"] for broker in after.values()] == [True] * 3
    assert {name for name in after if after[name]["pid"] != before[name]["pid"]} == {"kafka-2"}


def a_taken_port_of_a_dead_broker_is_told(home: Path) -> None:
    """While the others run, a broker cannot move: they and all clients know its port."""
    before = brokers(home)
    kill([process_of(before["kafka-3"])])
    with socket.create_server(("127.0.0.1", before["kafka-3"]["port"])):
        done = tacho("--home", home, "dev", "up", "--services", "kafka")
    assert done.code == 64
    assert f"another process listens on its port {before['kafka-3']['port']}" in done.err
    assert [name for name, broker in brokers(home).items() if broker["pid"] is not None] == ["kafka-1", "kafka-2"]
    assert tacho("--home", home, "dev", "up", "--services", "kafka").code == 0
