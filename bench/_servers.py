"""Real servers for subjects: one set for a whole `python -m bench`, shared by the processes of its subjects."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from tachograph.stores.backend import KafkaSettings, RedisSettings, S3Settings, Secret
from tachograph.stores.kafka import TopicPlan, ensure_topics
from tachograph.stores.redis import RedisCatalogue
from tachograph.stores.s3 import Bucket

_TESTS = Path(__file__).resolve().parents[1] / "tests"


def kafka(prefix: str, *plans: TopicPlan) -> KafkaSettings:
    """A broker with topics of a subject's own; it ends with the process that runs the benchmarks.

    Args:
        prefix: what the names of the subject's topics begin with.
        plans: the topics.
    """
    settings = KafkaSettings(_services().kafka().bootstrap, topic_prefix=prefix)
    ensure_topics(settings, plans)
    return settings


def s3(bucket: str) -> S3Settings:
    """A bucket on a server of which the same holds; it is made."""
    settings = replace(_services().s3(), bucket=bucket)
    Bucket(settings).ensure()
    return settings


def redis(database: int) -> RedisSettings:
    """A database of a server of which the same holds, emptied."""
    address = _services().redis().url.text.rpartition("/")[0]
    settings = RedisSettings(Secret(f"{address}/{database}"))
    RedisCatalogue(settings, "default").clear()
    return settings


def _services() -> ModuleType:
    os.environ["PYTEST_XDIST_WORKER"] = "bench"  # the servers are those of the parent, as of a test run's workers
    if str(_TESTS) not in sys.path:
        sys.path.insert(0, str(_TESTS))
    import services

    return services
