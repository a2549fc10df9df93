"""The schema registry: what its ids mean, through an outage of it, too. The only package that imports its client.

`SchemaRegistry` exchanges ids; `_confluent` talks to the registry, `_cache` keeps what it said.
"""

from tachograph.stores.registry._errors import (
    IncompatibleSchema,
    RegistryReplaced,
    RegistryUnavailable,
    UnknownSchemaId,
)
from tachograph.stores.registry._registry import SchemaRegistry

__all__ = ["IncompatibleSchema", "RegistryReplaced", "RegistryUnavailable", "SchemaRegistry", "UnknownSchemaId"]
