"""Values as bytes: canonical JSON with typed tags, keyed digests, and bodies that share what they have in common.

`encode_body` and `decode_body` are each other's inverse; `make_body` cuts long bytes into chunks and `read_body` checks
every byte on the way back. `canonical` is RFC 8785 for values that are JSON already.
"""

from tachograph.core.canonical._body import INLINE_BYTES_MAX, body_keys, group_keys, make_body, read_body
from tachograph.core.canonical._canonical import canonical
from tachograph.core.canonical._codecs import register_codec
from tachograph.core.canonical._decode import decode_body
from tachograph.core.canonical._digest import Digester
from tachograph.core.canonical._display import display
from tachograph.core.canonical._encode import dump_tagged, encode_body
from tachograph.core.canonical._json import JsonValue
from tachograph.core.canonical._tags import tagged_text

__all__ = [
    "INLINE_BYTES_MAX",
    "Digester",
    "JsonValue",
    "body_keys",
    "canonical",
    "decode_body",
    "display",
    "dump_tagged",
    "encode_body",
    "group_keys",
    "make_body",
    "read_body",
    "register_codec",
    "tagged_text",
]
