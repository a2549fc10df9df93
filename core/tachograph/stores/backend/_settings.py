"""Where the servers are, parsed once from the environment and a file."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tachograph.core.errors import InvalidSetting

_VARIABLES: Final = (
    "TACHO_KAFKA_BOOTSTRAP",
    "TACHO_KAFKA_CONFIG",
    "TACHO_TOPIC_PREFIX",
    "TACHO_REGISTRY_URL",
    "TACHO_S3_URL",
    "TACHO_S3_BUCKET",
    "TACHO_S3_ACCESS_KEY",
    "TACHO_S3_SECRET_KEY",
    "TACHO_S3_REGION",
    "TACHO_REDIS_URL",
    "TACHO_DIGEST_KEY_FILE",
    "TACHO_SPOOL_KEEP_HOURS",
)
"""All that is read; each can also stand in the file TACHO_CONFIG, as `kafka_bootstrap = "…"`."""


HOURS_MAX: Final = 1_000_000
"""A hundred years: more is a mistake."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that no representation shows."""

    text: str = field(repr=False)

    def __str__(self) -> str:
        return "***"


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """A Kafka cluster."""

    bootstrap: str
    """`host:port`, several with commas."""
    properties: Mapping[str, str | Secret] = field(default_factory=dict[str, "str | Secret"])
    """More properties of librdkafka (security.protocol, sasl.*, ssl.*), from the file TACHO_KAFKA_CONFIG."""
    topic_prefix: str = "tacho."
    """What every topic's name begins with."""


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """A schema registry that speaks Confluent's API."""

    url: str


@dataclass(frozen=True, slots=True)
class S3Settings:
    """An S3 store."""

    url: str
    """`http://host:port` or `https://host`."""
    bucket: str
    access_key: str
    secret_key: Secret
    region: str = "us-east-1"


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """A Redis server."""

    url: Secret
    """`redis://[user:password@]host:port/database`."""


@dataclass(frozen=True, slots=True)
class Backend:
    """The servers a home works with; what is None is kept in the home's directory."""

    kafka: KafkaSettings | None = None
    registry: RegistrySettings | None = None
    s3: S3Settings | None = None
    redis: RedisSettings | None = None
    digest_key_file: Path | None = None
    """The tenant's digest key, the same for all its homes; None: the home's own."""
    spool_keep_hours: float | None = None
    """How long spools stay after they were shipped, once the archive has them; None: for ever."""


def backend_of(environment: Mapping[str, str] | None = None) -> Backend:
    """The servers that the environment, and the file TACHO_CONFIG that it may name, speak of; a variable wins.

    Args:
        environment: by default the process's.

    Raises:
        InvalidSetting: names the setting, its value and what it must be.
    """
    given = _with_file(os.environ if environment is None else environment)
    key_file = given.get("TACHO_DIGEST_KEY_FILE")
    registry_url = given.get("TACHO_REGISTRY_URL")
    redis_url = given.get("TACHO_REDIS_URL")
    return Backend(
        kafka=_kafka(given),
        registry=RegistrySettings(_url("TACHO_REGISTRY_URL", registry_url)) if registry_url else None,
        s3=_s3(given),
        redis=RedisSettings(Secret(_redis_url(redis_url))) if redis_url else None,
        digest_key_file=Path(key_file) if key_file else None,
        spool_keep_hours=_keep_hours(given),
    )


def tenant_of(environment: Mapping[str, str] | None = None) -> str:
    """Whose events a home on servers shows: TACHO_TENANT, `default` where it is not set.

    Args:
        environment: by default the process's.
    """
    given = os.environ if environment is None else environment
    return given.get("TACHO_TENANT") or "default"


def _with_file(environment: Mapping[str, str]) -> Mapping[str, str]:
    given = {name: value for name in _VARIABLES if (value := environment.get(name))}
    path = environment.get("TACHO_CONFIG")
    return _file(path) | given if path else given


def _file(path: str) -> dict[str, str]:
    try:
        read = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSetting("TACHO_CONFIG", path, f"it must be a readable TOML file: {error}") from error
    values: dict[str, str] = {}
    for name, value in read.items():
        variable = f"TACHO_{name.upper()}"
        if variable not in _VARIABLES or not isinstance(value, str):
            known = ", ".join(known.removeprefix("TACHO_").lower() for known in _VARIABLES)
            raise InvalidSetting("TACHO_CONFIG", path, f"{name!r} is no text setting of these: {known}")
        values[variable] = value
    return values


def _kafka(given: Mapping[str, str]) -> KafkaSettings | None:
    bootstrap = given.get("TACHO_KAFKA_BOOTSTRAP")
    if not bootstrap:
        return None
    path = given.get("TACHO_KAFKA_CONFIG")
    prefix = given.get("TACHO_TOPIC_PREFIX", "tacho.")
    return KafkaSettings(bootstrap, _properties(path) if path else {}, prefix)


def _properties(path: str) -> dict[str, str | Secret]:
    """`name=value` lines, as Kafka's own tools take them."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InvalidSetting("TACHO_KAFKA_CONFIG", path, f"it must be a readable properties file: {error}") from error
    properties: dict[str, str | Secret] = {}
    for line in lines:
        name, separator, value = (part.strip() for part in line.partition("="))
        if not name or name.startswith("#"):
            continue
        if not separator:
            raise InvalidSetting("TACHO_KAFKA_CONFIG", path, f"the line {name!r} must be name=value")
        is_secret = any(word in name for word in ("password", "secret", "jaas", "key.pem", "token"))
        properties[name] = Secret(value) if is_secret else value
    return properties


def _s3(given: Mapping[str, str]) -> S3Settings | None:
    url = given.get("TACHO_S3_URL")
    if not url:
        return None
    for name in ("TACHO_S3_BUCKET", "TACHO_S3_ACCESS_KEY", "TACHO_S3_SECRET_KEY"):
        if name not in given:
            raise InvalidSetting(name, None, "it must be set where TACHO_S3_URL is")
    return S3Settings(
        _url("TACHO_S3_URL", url),
        given["TACHO_S3_BUCKET"],
        given["TACHO_S3_ACCESS_KEY"],
        Secret(given["TACHO_S3_SECRET_KEY"]),
        given.get("TACHO_S3_REGION", "us-east-1"),
    )


def _keep_hours(given: Mapping[str, str]) -> float | None:
    name = "TACHO_SPOOL_KEEP_HOURS"
    text = given.get(name)
    if text is None:
        return None
    try:
        hours = float(text)
    except ValueError:
        hours = math.nan
    if not 0 <= hours <= HOURS_MAX:
        raise InvalidSetting(name, text, f"it must be a number of hours from 0 to {HOURS_MAX:,}; unset: spools stay")
    if not given.get("TACHO_S3_URL"):
        raise InvalidSetting(name, text, "spools go only once the archive has them: set TACHO_S3_URL as well")
    return hours


def _url(name: str, text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidSetting(name, text, "it must be a URL, as in 'http://127.0.0.1:9000'")
    return text.rstrip("/")


def _redis_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"redis", "rediss", "unix"}:
        # The text may hold a password, so it is not repeated.
        raise InvalidSetting("TACHO_REDIS_URL", "…", "it must be a URL, as in 'redis://127.0.0.1:6379/0'")
    return text
