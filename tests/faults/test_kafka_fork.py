"""A process that is forked while a thread looks a name up: glibc leaves the lookup's lock taken in the child, for ever."""

from __future__ import annotations

import subprocess
import sys

from kafka_support import SECONDS_MAX

PROGRAM = """
import os, socket, threading
from contextlib import suppress
from tachograph.core.errors import StoreUnavailable
from tachograph.stores.backend import KafkaSettings
from tachograph.stores.kafka import EventProducer

def look_up():
    while True:
        socket.getaddrinfo("127.0.0.1", 9, flags=socket.AI_ADDRCONFIG)

for _ in range(4):
    threading.Thread(target=look_up, daemon=True).start()
children = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        producer = EventProducer(KafkaSettings("127.0.0.1:1"), print)
        with suppress(StoreUnavailable):
            producer.produce("topic", b"key", b"value")
        producer.close()
        os._exit(0)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
os._exit(0)
"""


def test_a_child_that_can_look_no_name_up_comes_to_its_end() -> None:
    """What it recorded waits in its spool; letting go of its client does not wait for threads that never end."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=3 * SECONDS_MAX, check=False
    )
    assert done.stdout.strip() == str([0] * 6), done.stderr
