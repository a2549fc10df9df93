"""`python insights_process.py BOOTSTRAP PREFIX REDIS_URL`: the insights process, until SIGTERM or kill."""

from __future__ import annotations

import signal
import sys
import threading

from tachograph.stores.backend import Backend, KafkaSettings, RedisSettings, Secret
from tachograph.stream_processors.insights import run_insights


def main(bootstrap: str, prefix: str, url: str) -> None:
    """Run until told to stop."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    backend = Backend(kafka=KafkaSettings(bootstrap, topic_prefix=prefix), redis=RedisSettings(Secret(url)))
    print("started", flush=True)
    print(run_insights(backend, stop), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
