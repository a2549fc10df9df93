"""One tenant's catalogue in Redis."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Final, cast

from tachograph.core.errors import StoreUnavailable, UnknownEffect, UnknownRun
from tachograph.core.findings import (
    Condition,
    EffectFinding,
    EffectRow,
    Finding,
    IntegrityFinding,
    RunFinding,
    RunRow,
    SegmentFinding,
    SignatureFinding,
)
from tachograph.core.ports import PastEffect
from tachograph.core.state import SignatureHit
from tachograph.schemas import EffectState
from tachograph.stores._log import nearest
from tachograph.stores._sources import random_name
from tachograph.stores.backend import RedisSettings
from tachograph.stores.redis._client import Client
from tachograph.stores.redis._keys import COUNTS, EFFECTS, HITS, LEDGER, RUNS, SIGNATURE, SIGNATURES, prefix_of
from tachograph.stores.redis._replies import content_of, list_of, read_finding, texts_of
from tachograph.stores.redis._rows import SignatureRow, effect_rows
from tachograph.stores.redis._script import APPLY, arguments_of, ledger_digest

BATCH: Final = 500
"""Findings told in one round trip; the server does nothing else meanwhile, some milliseconds."""

_NOT_OF_EVENTS: Final = ("findings:integrity", "findings:segment", "findings:replay")
"""What auditors, the archive and replays said: no fold of events gives it."""

_INTACT: Final = b'"condition":"INTACT"'
"""In the bytes of most of what the auditor says: such need not be read to be passed over."""

_READ: Final = 1000
"""Entries asked for at once."""


class RedisCatalogue:
    """A `Catalogue` of what findings tell. Safe for several threads and processes.

    Redis may be flushed at any time: what is missing then is there again once the findings are applied again.

    Args:
        settings: where it is.
        tenant: whose runs; no call reads or writes another's.
        prefix: what the keys begin with; by default the tenant's own place.
    """

    def __init__(self, settings: RedisSettings, tenant: str, *, prefix: str | None = None) -> None:
        self.tenant: Final = tenant
        self.prefix: Final = prefix_of(tenant) if prefix is None else prefix
        self._settings = settings
        self._client = Client(settings)

    def apply(self, findings: Iterable[Finding]) -> int:
        """Take findings in; returns how many took the place of older ones or of nothing.

        Raises:
            ForeignTenant: one of them is another tenant's; those before it may have been taken in.
            StoreUnavailable: the server does not answer; applying all of them again is safe.
        """
        applied = 0
        remaining = iter(findings)
        while batch := list(islice(remaining, BATCH)):
            arguments = [word for finding in batch for word in self._arguments(finding)]
            applied += cast("int", self._client.script(APPLY, [self.prefix], arguments))
        return applied

    def run_ids(self) -> Sequence[str]:
        """The runs, oldest first."""
        return [member.partition("/")[2] for member in self._members(RUNS)]

    def runs(self) -> Sequence[RunRow]:
        """Every run, oldest first."""
        return [row for part in _parts(self.run_ids()) for row in self._rows(part)]

    def run(self, run_id: str) -> RunRow:
        """One run.

        Raises:
            UnknownRun: there is no such run.
        """
        for row in self._rows([run_id]):
            return row
        raise UnknownRun(run_id, self._client.name, nearest(run_id, self.run_ids()))

    def effects(self, run_id: str | None = None) -> Sequence[EffectRow]:
        """The effects of a run, or all; in the order in which they last moved."""
        if run_id is None:
            found = map(read_finding, self._values(f"{self.prefix}findings:effect"))
            every = {one.key: one for one in found if isinstance(one, EffectFinding)}  # a scan may tell one twice
            return effect_rows(every.values())
        return effect_rows(self._effects(self._texts("SMEMBERS", self.prefix + EFFECTS + run_id)))

    def effect(self, effect_id: str) -> EffectRow:
        """One effect.

        Raises:
            UnknownEffect: there is none.
        """
        for finding in self._effects([effect_id]):
            return finding.row
        raise UnknownEffect(effect_id, f"there is none in {self._client.name}")

    def find(self, tenant: str, name: str, idempotency_key: str) -> PastEffect | None:
        """The effect under this key that counts: the latest that is not FAILED."""
        if tenant != self.tenant:
            return None
        place = f"{self.prefix}{LEDGER}{ledger_digest(name, idempotency_key)}"
        found = effect_rows(self._effects(self._texts("SMEMBERS", place)))
        return PastEffect(found[-1].effect_id, tenant, name, idempotency_key, found[-1].state) if found else None

    def state(self, effect_id: str) -> EffectState | None:
        """Where an effect stands, whoever moved it last; None where it is not known."""
        for finding in self._effects([effect_id]):
            return finding.row.state
        return None

    def signatures(self) -> Sequence[SignatureRow]:
        """Every signature that a run shows, by name."""
        names = sorted(texts_of(self._client.call("HKEYS", self.prefix + SIGNATURES)))
        times = self._client.calls([("HVALS", f"{self.prefix}{SIGNATURE}{name}") for name in names])
        rows = [(name, [int(text) for text in texts_of(found)]) for name, found in zip(names, times, strict=True)]
        return [SignatureRow(name, len(began), min(began), max(began)) for name, began in rows if began]

    def runs_with(self, signature: str) -> Sequence[str]:
        """The runs that show a signature, sorted."""
        return sorted(texts_of(self._client.call("HKEYS", f"{self.prefix}{SIGNATURE}{signature}")))

    def hits(self, run_id: str) -> Sequence[SignatureHit]:
        """How a run shows its signatures, as its row stands."""
        finding = self._finding("run", f"run/{run_id}")
        if not isinstance(finding, RunFinding):
            return ()
        found = [read_finding(value) for value in list_of(self._client.call("HVALS", f"{self.prefix}{HITS}{run_id}"))]
        hits = [one for one in found if isinstance(one, SignatureFinding) and one.position == finding.position]
        return [one.hit for one in sorted(hits, key=lambda one: one.key)]

    def integrity(self, run_id: str | None = None) -> Sequence[IntegrityFinding]:
        """What the auditor said of each stream, by run and agent."""
        values = list_of(self._client.call("HVALS", f"{self.prefix}findings:integrity"))
        found = [one for value in values if isinstance(one := read_finding(value), IntegrityFinding)]
        return sorted((one for one in found if run_id in (None, one.run_id)), key=lambda one: one.key)

    def problems(self) -> Sequence[IntegrityFinding]:
        """What the auditor said of streams that are not INTACT, by run and agent."""
        values = (
            value for value in self._values(f"{self.prefix}findings:integrity") if _INTACT not in cast("bytes", value)
        )
        found = {one.key: one for value in values if isinstance(one := read_finding(value), IntegrityFinding)}
        return [found[key] for key in sorted(found) if found[key].condition is not Condition.INTACT]

    def segments(self) -> Iterator[SegmentFinding]:
        """The segments that the archive told of, in no particular order."""
        found = map(read_finding, self._values(f"{self.prefix}findings:segment"))
        return (one for one in found if isinstance(one, SegmentFinding))

    def run_findings(self) -> Iterator[RunFinding]:
        """The finding behind each run's row, in no particular order."""
        found = map(read_finding, self._values(f"{self.prefix}findings:run"))
        return (one for one in found if isinstance(one, RunFinding))

    @contextmanager
    def scratch(self) -> Generator[RedisCatalogue]:
        """An empty catalogue beside this one, gone with the block."""
        beside = RedisCatalogue(self._settings, self.tenant, prefix=f"{self.prefix[:-1]}!{random_name()}:")
        try:
            yield beside
        finally:
            beside.clear()
            beside.close()

    def take_over(self, made: RedisCatalogue) -> None:
        """Put what another catalogue of this tenant holds in the place of what was derived from events here.

        What comes in meanwhile is kept where it is newer: it is told again by whoever folds.
        """
        derived = [name for name in self.key_names() if not name.removeprefix(self.prefix).startswith(_NOT_OF_EVENTS)]
        for part in _parts(derived):
            self._client.call("UNLINK", *part)
        self.apply(made.findings())

    def findings(self) -> Iterator[Finding]:
        """Everything that was told, in no particular order."""
        for name in list(self.key_names()):
            if name.removeprefix(self.prefix).startswith(("findings:", HITS)):
                yield from map(read_finding, self._values(name))

    def clear(self) -> None:
        """Forget everything of this tenant."""
        for part in _parts(list(self.key_names())):
            self._client.call("UNLINK", *part)

    def key_names(self) -> Iterator[str]:
        """The names of this tenant's keys, in no particular order."""
        cursor = 0
        pattern = "".join(f"\\{letter}" if letter in "*?[]^\\-" else letter for letter in self.prefix)
        while True:
            answer = list_of(self._client.call("SCAN", cursor, "MATCH", f"{pattern}*", "COUNT", _READ))
            yield from texts_of(answer[1])
            cursor = int(cast("bytes", answer[0]))
            if cursor == 0:
                return

    def content(self) -> dict[str, object]:
        """All that is kept, by key without its prefix: what two catalogues are compared by."""
        names = sorted(set(self.key_names()))
        kinds = texts_of(self._client.calls([("TYPE", name) for name in names])) if names else []
        commands = {"hash": ("HGETALL",), "set": ("SMEMBERS",), "zset": ("ZRANGE", 0, -1)}
        read = [(commands[kind][0], name, *commands[kind][1:]) for name, kind in zip(names, kinds, strict=True)]
        answers = self._client.calls(read) if read else []
        found = zip(names, kinds, answers, strict=True)
        return {name.removeprefix(self.prefix): content_of(kind, answer) for name, kind, answer in found}

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _values(self, name: str) -> Iterator[object]:
        """The values of a hash, a part at a time."""
        cursor = 0
        while True:
            answer = list_of(self._client.call("HSCAN", name, cursor, "COUNT", _READ))
            yield from list_of(answer[1])[1::2]
            cursor = int(cast("bytes", answer[0]))
            if cursor == 0:
                return

    def _arguments(self, finding: Finding) -> tuple[str | bytes, ...]:
        tenant = finding.row.tenant if isinstance(finding, RunFinding | EffectFinding) else finding.tenant
        if tenant != self.tenant:
            raise ForeignTenant(self.tenant, tenant, finding.key)
        return arguments_of(finding)

    def _members(self, name: str) -> list[str]:
        return self._texts("ZRANGE", self.prefix + name, 0, -1)

    def _texts(self, *words: str | int) -> list[str]:
        return texts_of(self._client.call(*words))

    def _rows(self, run_ids: Sequence[str]) -> Iterator[RunRow]:
        keys = [f"run/{run_id}" for run_id in run_ids]
        found, counts = self._client.calls(
            [("HMGET", f"{self.prefix}findings:run", *keys), ("HMGET", self.prefix + COUNTS, *run_ids)]
        )
        for key, value, count in zip(keys, list_of(found), list_of(counts), strict=True):
            if value is None:
                continue
            finding = read_finding(value)
            if not isinstance(finding, RunFinding) or finding.key != key:
                raise StoreUnavailable(self._client.name, f"it answered {key!r} with something else; try again")
            effects, unknown = (int(number) for number in cast("bytes", count or b"0 0").split())
            yield replace(finding.row, effects=effects, unknown_effects=unknown)

    def _effects(self, effect_ids: Sequence[str]) -> list[EffectFinding]:
        """Those that are known, in the order in which they are asked for."""
        known: list[EffectFinding] = []
        for part in _parts(effect_ids):
            keys = [f"effect/{effect_id}" for effect_id in part]
            found = list_of(self._client.call("HMGET", f"{self.prefix}findings:effect", *keys))
            for key, value in zip(keys, found, strict=True):
                finding = None if value is None else read_finding(value)
                if finding is not None and (not isinstance(finding, EffectFinding) or finding.key != key):
                    raise StoreUnavailable(self._client.name, f"it answered {key!r} with something else; try again")
                if isinstance(finding, EffectFinding):
                    known.append(finding)
        return known

    def _finding(self, kind: str, key: str) -> Finding | None:
        value = self._client.call("HGET", f"{self.prefix}findings:{kind}", key)
        return None if value is None else read_finding(value)


class ForeignTenant(StoreUnavailable):
    """A finding of one tenant was brought to another's catalogue."""

    def __init__(self, tenant: str, other: str, key: str) -> None:
        self.tenant = tenant
        self.other = other
        super().__init__(f"catalogue of {tenant!r}", f"{key!r} belongs to tenant {other!r}")


def _parts(items: Sequence[str]) -> Iterator[Sequence[str]]:
    return (items[start : start + _READ] for start in range(0, len(items), _READ))
