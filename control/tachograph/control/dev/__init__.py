"""Real servers on a development machine: Kafka, a schema registry, S3 and Redis on free ports of 127.0.0.1.

`_up` and `_look` are what the command does; `_plan` knows which servers a directory has, `_kafka` and `_others` how each
is started, `_probes` when it does its work. `_fetch` and `_cache` bring the programs, `_process` tells a process from
another one with the same id, `_state` is the note of what was started.
"""

from tachograph.control.dev._errors import (
    FetchFailed,
    NoFreePort,
    OtherServers,
    PackageMissing,
    PortTaken,
    ServerFailed,
    StateUnreadable,
)
from tachograph.control.dev._look import ServerStatus, down, status
from tachograph.control.dev._plan import ALL, Service
from tachograph.control.dev._up import PORTS, DevServers, up

__all__ = [
    "ALL",
    "PORTS",
    "DevServers",
    "FetchFailed",
    "NoFreePort",
    "OtherServers",
    "PackageMissing",
    "PortTaken",
    "ServerFailed",
    "ServerStatus",
    "Service",
    "StateUnreadable",
    "down",
    "status",
    "up",
]
