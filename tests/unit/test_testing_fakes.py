"""The fakes behave as their ports say."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tachograph.core.boundary import Envelope, Sources
from tachograph.core.errors import SpoolUnwritable, UnknownRun
from tachograph.core.ports import Clock, EventLog, EventSink, ObjectStore, PastEffect, PastEffects, Transport
from tachograph.core.testing import (
    FixedClock,
    MemoryEffects,
    MemoryLog,
    MemoryObjects,
    MemoryTransport,
    SeededSources,
)
from tachograph.schemas import EffectState


def test_every_fake_fits_its_port() -> None:
    """Types say so, here and in the type checkers."""
    clock: Clock = FixedClock()
    sources: Sources = SeededSources()
    objects: ObjectStore = MemoryObjects()
    sink: EventSink = MemoryLog()
    log: EventLog = MemoryLog()
    effects: PastEffects = MemoryEffects()
    transport: Transport = MemoryTransport()
    assert all(fake is not None for fake in (clock, sources, objects, sink, log, effects, transport))


def test_a_clock_moves_only_when_told() -> None:
    """By steps with each reading, or by hand."""
    clock = FixedClock(10, step_us=2)
    assert [clock.now_us(), clock.now_us()] == [10, 12]
    clock.advance(-4)
    assert clock.now_us() == 10


def test_sources_repeat_themselves() -> None:
    """The same seed gives the same time, randomness and ids."""
    first, second = SeededSources(3), SeededSources(3)
    assert [first.now_us(), first.seed(), first.new_id()] == [second.now_us(), second.seed(), second.new_id()]
    assert first.new_id() != first.new_id()


def test_objects_are_written_once() -> None:
    """A key never changes, but a test may damage or lose what is behind it."""
    objects = MemoryObjects()
    objects.put(b"k", b"one")
    objects.put(b"k", b"two")
    assert (objects.get(b"k"), list(objects.keys())) == (b"one", [b"k"])
    objects.replace(b"k", b"three")
    assert objects.get(b"k") == b"three"
    objects.replace(b"k", None)
    assert objects.get(b"k") is None


def test_a_log_can_be_full() -> None:
    """After so many appends it behaves like a full disk; what was appended before is there."""
    log = MemoryLog(fail_after=1)
    log.append([b"a", b"b"])
    with pytest.raises(SpoolUnwritable, match="no space left"):
        log.append([b"c"])
    assert (log.payloads, log.synced) == ([b"a", b"b"], 0)
    log.close()
    assert log.synced == 2
    with pytest.raises(SpoolUnwritable, match="closed"):
        log.append([b"c"])
    with pytest.raises(UnknownRun):
        MemoryLog().read_run("r")


def test_the_latest_effect_that_is_not_failed_counts() -> None:
    """Per tenant, name and key."""
    effects = MemoryEffects([PastEffect("1", "t", "mail", "k", EffectState.UNKNOWN)])
    effects.add(PastEffect("2", "t", "mail", "k", EffectState.FAILED))
    effects.add(PastEffect("3", "other", "mail", "k", EffectState.CONFIRMED))
    found = effects.find("t", "mail", "k")
    assert found is not None
    assert found.effect_id == "1"
    assert effects.find("t", "mail", "other") is None


def _envelope(message_id: str) -> Envelope:
    return Envelope("r", message_id, "a", "b", {"n": message_id}, 1, 1, 1, "")


def test_messages_arrive_in_order_across_threads() -> None:
    """A thread that waits gets what another one sends."""
    transport = MemoryTransport()
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.extend(transport.collect("r", "b").message_id for _ in range(3)))
    reader.start()
    for number in range(3):
        transport.deliver(_envelope(str(number)))
    reader.join(10)
    assert got == ["0", "1", "2"]


def test_messages_arrive_on_an_event_loop() -> None:
    """A task that waits does not block the loop, and is woken from a thread, too."""

    async def scene() -> list[str]:
        transport = MemoryTransport()
        waiting = [asyncio.create_task(transport.collect_async("r", "b")) for _ in range(2)]
        await asyncio.sleep(0)
        await transport.deliver_async(_envelope("1"))
        await asyncio.to_thread(transport.deliver, _envelope("2"))
        return sorted([(await task).message_id for task in waiting])

    assert asyncio.run(scene()) == ["1", "2"]
