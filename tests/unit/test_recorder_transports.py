"""Transports: within a process and through a directory, in order, to one receiver, without loss."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tachograph.core.boundary import Envelope
from tachograph.core.errors import StoreUnavailable
from tachograph.core.ports import Transport
from tachograph.producers import DirectoryTransport, InProcessTransport


def envelope(seq: int, to: str = "b", sender: str = "a", body: object = None) -> Envelope:
    """A message."""
    return Envelope(
        "run-1", f"{sender}#1/{seq}", sender, to, body if body is not None else seq, 1, seq, seq << 16, "ab" * 32
    )


@pytest.fixture(params=["process", "directory"])
def transport(request: pytest.FixtureRequest, tmp_path: Path) -> Transport:
    """Either of the transports."""
    return InProcessTransport() if request.param == "process" else DirectoryTransport(tmp_path / "mail")


def test_messages_arrive_in_the_order_in_which_they_were_sent(transport: Transport) -> None:
    """Each agent gets its own, whole and in order."""
    for seq in range(1, 6):
        transport.deliver(envelope(seq))
        transport.deliver(envelope(seq, to="c"))
    assert [transport.collect("run-1", "b") for _ in range(5)] == [envelope(seq) for seq in range(1, 6)]
    assert [transport.collect("run-1", "c").seq for _ in range(5)] == [1, 2, 3, 4, 5]


def test_a_receiver_waits_for_what_comes_later(transport: Transport) -> None:
    """A thread and a task that wait are woken by another thread."""
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(transport.collect, "run-1", "b")
        transport.deliver(envelope(1))
        assert waiting.result().seq == 1

    async def waits() -> int:
        task = asyncio.create_task(transport.collect_async("run-1", "b"))
        await asyncio.sleep(0)
        await asyncio.to_thread(transport.deliver, envelope(2))
        return (await task).seq

    assert asyncio.run(waits()) == 2


def test_every_message_reaches_exactly_one_of_many_receivers(transport: Transport) -> None:
    """Threads and tasks compete: nothing is lost and nothing comes twice."""
    got: list[int] = []

    async def tasks() -> None:
        envelopes = await asyncio.gather(*(transport.collect_async("run-1", "b") for _ in range(20)))
        got.extend(found.seq for found in envelopes)

    def take() -> None:
        got.extend(transport.collect("run-1", "b").seq for _ in range(20))

    threads = [threading.Thread(target=take) for _ in range(2)]
    threads.append(threading.Thread(target=lambda: asyncio.run(tasks())))
    for thread in threads:
        thread.start()
    for seq in range(60):
        transport.deliver(envelope(seq))
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(60))


def test_a_cancelled_receiver_takes_nothing_with_it(transport: Transport) -> None:
    """The message that came in that moment is the next one's, before all others."""

    async def cancels() -> list[int]:
        first = asyncio.create_task(transport.collect_async("run-1", "b"))
        await asyncio.sleep(0)
        await transport.deliver_async(envelope(1))
        await transport.deliver_async(envelope(2))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return [(await transport.collect_async("run-1", "b")).seq for _ in range(2)]

    assert asyncio.run(cancels()) == [1, 2]


def test_a_cancelled_receivers_message_goes_to_who_waits_behind_it() -> None:
    """Within a process, another waiting receiver gets it at once."""
    transport = InProcessTransport()

    async def cancels() -> int:
        first = asyncio.create_task(transport.collect_async("run-1", "b"))
        second = asyncio.create_task(transport.collect_async("run-1", "b"))
        await asyncio.sleep(0)
        transport.deliver(envelope(1))
        first.cancel()
        return (await second).seq

    assert asyncio.run(cancels()) == 1


def test_an_uncollected_message_is_forgotten_with_its_run() -> None:
    """A run that is over leaves nothing behind in memory."""
    transport = InProcessTransport()
    transport.deliver(envelope(1))
    transport.forget("run-1")
    assert transport._mailboxes == {}


def test_files_are_gone_once_their_reception_is_recorded(tmp_path: Path) -> None:
    """A message is written, taken, and removed; at no time is it readable half."""
    transport = DirectoryTransport(tmp_path, durable=True)
    transport.deliver(envelope(1, body={"text": "é", "pair": (1, 2)}))
    found = transport.collect("run-1", "b")
    assert found.body == {"text": "é", "pair": (1, 2)}
    assert len(list(tmp_path.rglob("*-1-1"))) == 1
    transport.settled(found)
    transport.settled(found)
    assert list(tmp_path.rglob("*-1-1")) == []


def test_what_a_dead_process_took_is_offered_again_unless_it_was_recorded(tmp_path: Path) -> None:
    """Recorded as received: dropped. Taken only: back in its place."""
    transport = DirectoryTransport(tmp_path)
    for seq in (1, 2, 3):
        transport.deliver(envelope(seq))
    taken = [transport.collect("run-1", "b") for _ in range(2)]
    assert transport.recover("run-1", "b", frozenset({taken[0].message_id})) == 1
    assert [transport.collect("run-1", "b").seq for _ in range(2)] == [2, 3]


def test_ids_cannot_lead_out_of_the_directory(tmp_path: Path) -> None:
    """Whatever an id holds, its files lie below the transport's directory."""
    transport = DirectoryTransport(tmp_path / "mail")
    transport.deliver(envelope(1, to="../../x", sender="../y"))
    assert [path for path in tmp_path.rglob("*") if path.is_file() and tmp_path / "mail" not in path.parents] == []
    assert transport.collect("run-1", "../../x").seq == 1


@pytest.mark.parametrize("content", [b"", b"{}", b"not json\nnull", b'{"run_id": 1}\nnull', b"\xff\xfe\n\xff"])
def test_a_file_that_is_no_message_is_left_aside(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A foreign file neither stops the mailbox nor reaches control logic; a warning names it."""
    transport = DirectoryTransport(tmp_path)
    transport.deliver(envelope(2))
    (new,) = tmp_path.rglob("new")
    (new / "00000000000000000001-x").write_bytes(content)
    assert transport.collect("run-1", "b").seq == 2
    assert "00000000000000000001-x" in caplog.text


def test_a_message_for_somebody_else_is_left_aside(tmp_path: Path) -> None:
    """A file moved into another mailbox is not delivered there."""
    transport = DirectoryTransport(tmp_path)
    transport.deliver(envelope(1, to="c"))
    transport.deliver(envelope(2))
    (foreign,) = tmp_path.rglob("*-1-1")
    (mine,) = tmp_path.rglob("*-1-2")
    foreign.rename(mine.with_name(foreign.name))
    assert transport.collect("run-1", "b").seq == 2


def test_a_mailbox_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """The error names the file and the operating system's reason."""
    (tmp_path / "mail").write_text("a file, where a directory must be")
    with pytest.raises(StoreUnavailable, match="Not a directory"):
        DirectoryTransport(tmp_path / "mail").deliver(envelope(1))


def test_two_processes_take_each_message_once(tmp_path: Path) -> None:
    """Between processes, too, a message has one receiver."""
    transport = DirectoryTransport(tmp_path / "mail")
    for seq in range(100):
        transport.deliver(envelope(seq))
    child = os.fork()
    if child == 0:
        taken = [str(transport.collect("run-1", "b").seq) for _ in range(50)]
        (tmp_path / "child").write_text(" ".join(taken))
        os._exit(0)
    mine = [transport.collect("run-1", "b").seq for _ in range(50)]
    assert os.waitpid(child, 0)[1] == 0
    assert sorted([*mine, *map(int, (tmp_path / "child").read_text().split())]) == list(range(100))
