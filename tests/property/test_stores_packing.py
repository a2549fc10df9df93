"""Objects are deflated in their files: whatever is stored comes back, and no damage passes for the object."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tachograph.stores._packing import packed, unpacked


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: (text * 9).encode()))
def test_what_is_packed_comes_back(data: bytes) -> None:
    """Packing loses nothing and never costs a byte."""
    assert unpacked(packed(data)) == data or data.startswith(b"\x01z")
    assert len(packed(data)) <= len(data)


def test_no_flipped_bit_passes_for_the_object() -> None:
    """Every bit counts, those that the deflated form leaves unused included."""
    data = b'{"content":"' + b"the customer asks for a refund " * 20 + b'"}'
    content = packed(data)
    assert len(content) < len(data)
    for at in range(len(content) * 8):
        flipped = bytearray(content)
        flipped[at // 8] ^= 1 << (at % 8)
        assert unpacked(bytes(flipped)) != data
