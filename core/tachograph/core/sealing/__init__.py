"""Sealed bytes: what redaction took out of a body, encrypted so that it can be neither read, moved nor changed.

`Sealer` (`_sealer`) puts bytes into a box (`_box`) under a key, bound to what is said of them; `RawPlace`
(`_place`) says which body of which event they belong to and gives the name under which they lie; `taken_out` and
`put_back` (`_delta`) make a raw body from a redacted one and the little that differs.
"""

from tachograph.core.sealing._box import BOX_BYTES_MIN, SealedBox
from tachograph.core.sealing._delta import put_back, taken_out
from tachograph.core.sealing._place import ERROR_ARGUMENTS, RawPlace, bound
from tachograph.core.sealing._sealer import SEALING_KEY_BYTES, Cipher, NewCipher, Sealer, derived

__all__ = [
    "BOX_BYTES_MIN",
    "ERROR_ARGUMENTS",
    "SEALING_KEY_BYTES",
    "Cipher",
    "NewCipher",
    "RawPlace",
    "SealedBox",
    "Sealer",
    "bound",
    "derived",
    "put_back",
    "taken_out",
]
