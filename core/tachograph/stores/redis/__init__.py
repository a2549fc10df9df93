"""The catalogue in Redis: a cache of findings that can be flushed at any time and is filled again to the same content.

`RedisCatalogue` tells one tenant's runs and effects; `apply` takes findings in, in any order and however often. `_script`
holds the one Lua script that writes, `_client` is the only module that knows the redis client.
"""

from tachograph.stores.redis._catalogue import RedisCatalogue
from tachograph.stores.redis._rebuild import rebuild_redis
from tachograph.stores.redis._rows import SignatureRow

__all__ = ["RedisCatalogue", "SignatureRow", "rebuild_redis"]
