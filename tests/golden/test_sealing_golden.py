"""Boxes that a release has sealed open in every later one: the layout and the derived keys never change."""

from __future__ import annotations

import pytest

from tachograph.core.canonical import Digester
from tachograph.core.errors import SealBroken
from tachograph.core.sealing import RawPlace, SealedBox, Sealer, derived, put_back, taken_out
from tachograph.stores._aead import aes_gcm

KEY = bytes(range(32))
PLACE = RawPlace("acme", "run-1", "run-1/triage#1.3", "result", bytes(range(32, 64)))
REDACTED = b'{"card":"[card:0123456789ab]","text":"a body that is longer than its patches","to":"[email:ba9876543210]"}'
RAW = b'{"card":4111111111111111,"text":"a body that is longer than its patches","to":"bob@example.org"}'

NAME = "8a6a2e1a7e8d2e2df639a980eb3b519ad6ccfb177e27af57f31e2dbd0ef37062"
TAKEN = (
    "00000039010000000800000015000000103431313131313131313131313131313100000036000000160000001122626f"
    "62406578616d706c652e6f7267220000"
)
BOX = (
    "013fc5373b098743e52c72dbe069f40e0b61820cb9d6100f7f044be78ed506e2ee0000000000000000000000007c678f"
    "306783cffd544cb668243a1949c536b684bdb6e8e50c8aa0457a1da27fec58eb61d4290b7e0ec40d70163096a62376e5"
    "0df10b9af9bed5d4925fc253b8f2d7f74c7a958096f927d1966fb4086b"
)


def test_names_are_what_they_were() -> None:
    """Else nothing that lies under them would be found."""
    assert PLACE.name(Digester(derived(KEY, b"name"))).hex() == NAME


def test_what_was_taken_out_is_laid_out_as_it_was() -> None:
    """And goes back."""
    assert taken_out(RAW, REDACTED).hex() == TAKEN
    assert put_back(REDACTED, bytes.fromhex(TAKEN)) == RAW


def test_a_box_of_the_first_version_opens() -> None:
    """In its place, with its key."""
    sealer = Sealer(KEY, aes_gcm, bytes)
    assert sealer.open(bytes.fromhex(BOX), PLACE.bound()).hex() == TAKEN
    assert sealer.seal(bytes.fromhex(TAKEN), PLACE.bound()).hex() == BOX


def test_a_box_of_a_later_version_is_named() -> None:
    """It is not taken for a damaged one."""
    data = bytearray(bytes.fromhex(BOX))
    data[0] = 2
    with pytest.raises(SealBroken, match="version 2"):
        SealedBox.from_bytes(bytes(data))
