"""Ships one spool: bodies first, then events, then the mark that both are there."""

from __future__ import annotations

import logging
from binascii import hexlify
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tachograph.core.errors import CorruptPayload, StoreUnavailable, TachographError
from tachograph.core.ports import ObjectStore
from tachograph.producers.shipper._again import Again, Refused
from tachograph.producers.shipper._carrier import Carrier
from tachograph.producers.shipper._counters import Counters
from tachograph.producers.shipper._route import TENANT_HEADER, Router
from tachograph.producers.shipper._sources import now_ms
from tachograph.schemas import HASH
from tachograph.stores.kafka import EventProducer, Failed, Outgoing, QueueFull, RecordTooLarge
from tachograph.stores.registry import SchemaRegistry, UnknownSchemaId
from tachograph.stores.shipping import (
    BEGINNING,
    Batch,
    Mark,
    Shipment,
    SpoolFollower,
    Stuck,
    StuckReason,
    keys_of,
    listed_keys,
    name_of,
)

_LOG: Final = logging.getLogger("tachograph.shipper")

BATCH_BYTES_MAX: Final = 512 * 1024
"""Read at once: so little that the bytes are sent while the processor's caches hold them."""

WINDOW_BYTES_MAX: Final = 24 * 1024 * 1024
"""Sent before their acknowledgement is waited for: waiting costs a round trip, a crash sends a window again. While brokers do
not answer, a recording process holds as much in memory, twice."""

ALONE_WINDOW_BYTES_MAX: Final = 56 * 1024 * 1024
"""The same of a process that does nothing else; all of it fits into the client's queue."""

FLUSH_SECONDS: Final = 0.5
"""How long is waited before it is looked whether to give up."""

TIME_BEHIND_MS_MAX: Final = 3_600_000
"""A record says that it is at most an hour old: retention would soon take what was kept long and sent late."""

RECORDS_AT_ONCE: Final = 1000
"""Handed over in one call; between two of them other threads get their turn."""

HASH_HEADER: Final = "tacho-hash"

Headers = dict[str, str | bytes | None]


class GivenUp(Exception):
    """It was to stop before all was acknowledged; what is not will be sent again."""


@dataclass(frozen=True, slots=True)
class Means:
    """What every transfer of a shipper uses."""

    topic: str
    producer: EventProducer
    registry: SchemaRegistry
    objects: ObjectStore
    carrier: Carrier | None
    """None: bodies stay where they are."""
    stops: Callable[[], bool]
    """Whether to give up."""
    before: Counters
    """What was counted before these were connected."""
    window_bytes: int = WINDOW_BYTES_MAX
    """Sent before their acknowledgement is waited for."""


class Transfer:
    """Ships one spool, which is this shipper's alone while it is open."""

    def __init__(self, spool: Path, means: Means, counters: Counters) -> None:
        self.path = spool
        self._means = means
        self._shipment = Shipment(spool, means.topic)
        self._follower = SpoolFollower(spool)
        self._router = Router()
        self._counters = counters
        self._refused_again: Refused | None = None
        """While what is stuck is tried again: what is refused once more."""
        self._again = Again(self._shipment, self._follower, self._send_again, self._carry_again)

    def open(self) -> bool:
        """Take the spool; False: somebody else ships it.

        Raises:
            StoreUnavailable: the operating system refuses.
        """
        if not self._shipment.open():
            return False
        self.mark = self._shipment.mark()
        self._count_stuck(self._shipment.stuck(), 1)
        return True

    def close(self) -> None:
        """Let go of the spool."""
        self._shipment.close()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do, now or later."""
        return self.mark.is_done and not any(each.can_be_tried for each in self._shipment.stuck())

    def step(self) -> bool:
        """Ship one window, or try again what is stuck where nothing else is left; whether there was anything.

        Raises:
            StoreUnavailable: a server or the disk refuses for now; the next step begins where this one did.
            GivenUp: it was to stop.
        """
        return (not self.mark.is_done and self._step()) or self._try_again()

    def _step(self) -> bool:
        mark, size = self.mark, 0
        try:
            while True:
                batch = self._follower.read(mark.position, BATCH_BYTES_MAX)
                mark = replace(self._ship(batch, mark), position=batch.end, is_done=batch.is_over)
                size += sum(map(len, batch.payloads))
                if batch.is_last or size >= self._means.window_bytes:
                    break
        except StoreUnavailable:
            self._keep(mark, size)  # what was sent before need not be sent again
            raise
        return self._keep(mark, size)

    def _keep(self, mark: Mark, size: int) -> bool:
        """All that was sent is acknowledged: the mark moves."""
        if mark == self.mark:
            return False
        self._settle()
        self._shipment.save(mark)
        counters, means = self._counters, self._means
        counters.events += mark.events - self.mark.events
        counters.bytes += size
        counters.bodies = means.before.bodies + (0 if means.carrier is None else means.carrier.bodies)
        counters.resent = means.before.resent + means.producer.statistics().resent
        self.mark = mark
        return size > 0

    def refused(self, failed: Failed) -> None:
        """The cluster refuses an event."""
        self._leave_out(failed.value or b"", failed.error)

    def _ship(self, batch: Batch, mark: Mark) -> Mark:
        for sentence in batch.unreadable:
            self._add_stuck(Stuck(sentence, "", "these bytes of the spool are not what was written", "damaged"))
        records = self._records(batch.payloads)
        bodies = self._carry(batch.payloads, mark.bodies)
        self._send(records)
        return replace(mark, bodies=bodies, events=mark.events + len(records))

    def _records(self, payloads: Sequence[bytes]) -> list[Outgoing]:
        """The payloads as records; what cannot be one is named and left out."""
        route, to_wire, topic = self._router.route, self._means.registry.to_wire, self._means.topic
        newest_ms = now_ms()  # brokers refuse times far ahead, each with its whole batch: a clock was set back since
        oldest_ms = newest_ms - TIME_BEHIND_MS_MAX
        records: list[Outgoing] = []
        add = records.append
        for payload in payloads:
            try:
                who, time_ms = route(payload)
                value = to_wire(payload)
            except (CorruptPayload, UnknownSchemaId) as error:
                self._leave_out(payload, error)
                continue
            if not oldest_ms <= time_ms <= newest_ms:
                time_ms = oldest_ms if time_ms < oldest_ms else newest_ms
            headers: Headers = {TENANT_HEADER: who.tenant, HASH_HEADER: hexlify(payload[HASH])}
            add((topic, value, who.run_id, headers, time_ms))
        return records

    def _carry(self, payloads: Sequence[bytes], start: int) -> int:
        """Bodies before events. The list of keys is read after the events: it names all of theirs."""
        carrier = self._means.carrier
        if carrier is None:
            return start
        listed = listed_keys(self.path, start) if len(self._router.tenants) <= 1 else None
        if listed is not None:
            keys, end = listed
            if keys and self._router.tenants:
                self._miss(carrier.carry(next(iter(self._router.tenants)).decode(), keys))
                return end
            return start
        # No list, or one of several tenants' objects, which must not get to each other: the events tell.
        by_tenant: dict[bytes, list[bytes]] = {}
        for payload in payloads:
            with suppress(CorruptPayload):
                who, _ = self._router.route(payload)
                by_tenant.setdefault(who.tenant, []).extend(keys_of(payload, self._means.objects))
        for tenant, keys in by_tenant.items():
            self._miss(carrier.carry(tenant.decode(), keys))
        return start

    def _miss(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            self._add_stuck(Stuck.of_body(key))

    def _send(self, records: Sequence[Outgoing]) -> None:
        topic, producer = self._means.topic, self._means.producer
        at = 0
        while at < len(records):
            part = records[at : at + RECORDS_AT_ONCE]
            taken = producer.produce_all(topic, part)
            at += taken
            if taken < len(part):
                at += self._send_one(records[at])

    def _send_one(self, record: Outgoing) -> int:
        """A record for which there was no room, or which is too large; how many were dealt with."""
        topic, value, key, headers, time_ms = record
        try:
            self._means.producer.produce(topic, key, value, headers, time_ms)
        except QueueFull:
            self._settle()
            return 0
        except RecordTooLarge as error:
            self._leave_out(value or b"", error)
        return 1

    def _settle(self) -> None:
        """Return when all that was sent is acknowledged, or refused."""
        while self._means.producer.flush(FLUSH_SECONDS):
            if self._means.stops():
                raise GivenUp

    def _leave_out(self, payload: bytes, error: TachographError) -> None:
        hash_, reason = payload[HASH].hex(), str(error)
        if self._refused_again is not None:
            self._refused_again[hash_] = _kind_of(error), reason
        else:
            self._add_stuck(Stuck(name_of(payload), hash_, reason, _kind_of(error), self.mark.position))

    def _add_stuck(self, stuck: Stuck) -> None:
        if self._shipment.add_stuck(stuck):
            self._counters.stuck[stuck.kind] += 1
            _LOG.error("tachograph: not shipped, kept in %s: %s: %s", self.path, stuck.what, stuck.reason)

    def _try_again(self) -> bool:
        if not self._again.is_due:
            return False
        self._means.producer.forget_limits()
        before = self._shipment.stuck()
        try:
            arrived = self._again.step()
        finally:
            self._count_stuck(before, -1)
            self._count_stuck(self._shipment.stuck(), 1)
        self._counters.events += arrived
        return arrived > 0

    def _count_stuck(self, stuck: Sequence[Stuck], sign: int) -> None:
        for each in stuck:
            self._counters.stuck[each.kind] += sign

    def _send_again(self, payloads: Sequence[bytes]) -> Refused:
        refused: Refused = {}
        self._refused_again = refused
        try:
            self._send(self._records(payloads))
            self._settle()
        finally:
            self._refused_again = None
        return refused

    def _carry_again(self, keys: Sequence[bytes]) -> Sequence[bytes]:
        """A body's tenant is that of the spool's events; where it has several, nobody can say whose the body is."""
        if self._means.carrier is None:
            return keys
        if not self._router.tenants:
            self._records(self._follower.read(BEGINNING, BATCH_BYTES_MAX).payloads[:1])
        tenants = self._router.tenants
        return self._means.carrier.carry(next(iter(tenants)).decode(), keys) if len(tenants) == 1 else keys


def _kind_of(error: TachographError) -> StuckReason:
    if isinstance(error, RecordTooLarge):
        return "too_large"
    if isinstance(error, UnknownSchemaId):
        return "unknown_schema"
    return "corrupt" if isinstance(error, CorruptPayload) else "refused"
