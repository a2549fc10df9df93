"""Objects in S3: a bucket whose names are written once, and the object stores over it.

`Bucket` is the only module that knows the minio client. `S3Objects` keeps bodies in it, `CachedObjects` reads through a
directory, so that what was read once is read from the disk from then on.
"""

from tachograph.stores.s3._bucket import Bucket, Patience
from tachograph.stores.s3._cached import CachedObjects
from tachograph.stores.s3._errors import S3Refused, S3Unreachable
from tachograph.stores.s3._names import name_part
from tachograph.stores.s3._objects import S3Objects

__all__ = [
    "Bucket",
    "CachedObjects",
    "Patience",
    "S3Objects",
    "S3Refused",
    "S3Unreachable",
    "name_part",
]
