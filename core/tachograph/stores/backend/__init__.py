"""Which servers a home works with: settings, parsed once into frozen values. Without any, a home is a directory."""

from tachograph.stores.backend._settings import (
    Backend,
    KafkaSettings,
    RedisSettings,
    RegistrySettings,
    S3Settings,
    Secret,
    backend_of,
    tenant_of,
)

__all__ = [
    "Backend",
    "KafkaSettings",
    "RedisSettings",
    "RegistrySettings",
    "S3Settings",
    "Secret",
    "backend_of",
    "tenant_of",
]
