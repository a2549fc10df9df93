"""What a record says of its event beside it: whoever reads it holds the two against each other."""

from __future__ import annotations

from typing import Final

TENANT_HEADER: Final = "tacho-tenant"
HASH_HEADER: Final = "tacho-hash"
