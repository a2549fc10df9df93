"""Claims: one holder under a key, let go of by release or by the end of a process, and by nothing else."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tachograph.core.errors import ReconciliationRequired, StoreUnavailable
from tachograph.stores._effect_claims import EffectClaims


def refused(claims: EffectClaims) -> str | None:
    """Whom a claim is refused for; None where it is granted, and let go of again."""
    try:
        claim = claims.take("tenant", "pay", "bob", "another")
    except ReconciliationRequired as refusal:
        return refusal.effect_id
    claims.release(claim)
    return None


def test_a_claim_is_granted_once_until_it_is_released(tmp_path: Path) -> None:
    """To whomever else: the refusal names the effect that holds it. Released twice is released once."""
    first, second = EffectClaims(tmp_path / "claims"), EffectClaims(tmp_path / "claims")
    claim = first.take("tenant", "pay", "bob", "run-1/a#1.2")
    assert refused(second) == "run-1/a#1.2"
    assert refused(first) == "run-1/a#1.2"
    first.release(claim)
    first.release(claim)
    assert refused(second) is None
    assert list((tmp_path / "claims").iterdir()) == []


def test_claims_differ_by_tenant_tool_and_key(tmp_path: Path) -> None:
    """However their texts are put together."""
    claims = EffectClaims(tmp_path / "claims")
    taken = {
        claims.take(*who, "effect")
        for who in (("t", "pay", "bob"), ("tp", "ay", "bob"), ("t", "payb", "ob"), ("t", "pay", "b/../b\ud800"))
    }
    assert len(taken) == 4


def test_a_file_that_a_dead_process_left_is_no_claim(tmp_path: Path) -> None:
    """Its lock is gone; the next holder's name replaces its own."""
    claims = EffectClaims(tmp_path / "claims")
    child = os.fork()
    if child == 0:
        EffectClaims(tmp_path / "claims").take("tenant", "pay", "bob", "a longer name than the next one")
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    assert len(list((tmp_path / "claims").iterdir())) == 1
    claims.take("tenant", "pay", "bob", "mine")
    assert refused(EffectClaims(tmp_path / "claims")) == "mine"


def test_a_forked_child_holds_nothing_of_its_parent(tmp_path: Path) -> None:
    """Were it so, the claim would outlive the parent's release; and the child's end lets go of nothing."""
    claims = EffectClaims(tmp_path / "claims")
    claim = claims.take("tenant", "pay", "bob", "mine")
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writes)
        claims.release(claim)
        os.read(reads, 1)
        os._exit(0)
    os.close(reads)
    assert refused(claims) == "mine"
    claims.release(claim)
    assert refused(claims) is None
    os.close(writes)
    assert os.waitpid(child, 0) == (child, 0)


def test_of_many_threads_one_at_a_time_holds_a_claim(tmp_path: Path) -> None:
    """Also where files come and go under the same name."""
    held: list[int] = []
    most: list[int] = []

    def takes(claims: EffectClaims) -> None:
        for _ in range(200):
            try:
                claim = claims.take("tenant", "pay", "bob", "one")
            except ReconciliationRequired:
                continue
            held.append(1)
            most.append(len(held))
            held.pop()
            claims.release(claim)

    threads = [threading.Thread(target=takes, args=(EffectClaims(tmp_path / "claims"),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


def test_what_cannot_be_claimed_is_told(tmp_path: Path) -> None:
    """Nobody could say then who else executes it."""
    (tmp_path / "claims").write_text("no directory")
    with pytest.raises(StoreUnavailable, match="claims"):
        EffectClaims(tmp_path / "claims").take("tenant", "pay", "bob", "mine")
