"""One stream, recounted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from tachograph.core.causality import GENESIS
from tachograph.core.findings import Condition
from tachograph.core.integrity._head import Head, Verdict

RECENT_MAX: Final = 64
"""Hashes that are kept to tell a duplicate from a fork: what a shipper sends again after a crash is a batch."""

AHEAD_MAX: Final = 1024
"""Events that wait for one before them; then that one counts as lost. 1,024 hashes take 100 KB."""

PROOF_BYTES_MAX: Final = 1 << 20
"""Contents of waiting events, kept to check their hashes once that is possible."""

FORKS_MAX: Final = 64
"""Forked events whose duplicates are known as such."""


@dataclass(frozen=True, slots=True)
class IntegrityState:
    """What was counted in a stream."""

    condition: Condition
    events: int
    """Different ones, forks included."""
    seq: int
    """The highest that was seen."""
    duplicates: int
    problems: tuple[str, ...]
    """Sentences."""


class _Ahead(NamedTuple):
    """An event that waits for one before it."""

    hash: bytes
    ends: bool
    unchecked: bool
    head: Head | None
    """While its hash can still be checked later."""


class StreamAudit:
    """Recounts a stream from its events, in whatever order they come. Memory is bounded.

    Args:
        begins_at: the stream's first seq that is to be counted; above 1 where earlier ones were counted by somebody else.
    """

    __slots__ = (
        "_ahead", "_forks", "_head", "_proof_bytes", "_recent", "broken", "duplicates", "ended", "events", "forked",
        "late", "lost", "reordered", "seq", "unproved",
    )  # fmt: skip

    def __init__(self, begins_at: int = 1) -> None:
        self.seq = begins_at - 1
        """All up to this one were counted, or are lost."""
        self._head: bytes | None = GENESIS if begins_at == 1 else None
        self._recent: deque[bytes] = deque(maxlen=RECENT_MAX)
        self._ahead: dict[int, _Ahead] = {}
        self._forks: dict[tuple[int, bytes], None] = {}
        self._proof_bytes = 0
        self.ended = False
        self.events = self.duplicates = self.lost = self.forked = self.broken = self.late = self.unproved = 0
        self.reordered = 0

    def add(self, head: Head, *, closed: bool = False) -> Verdict:
        """Count an event.

        Args:
            head: the event.
            closed: whether its run counts as closed.
        """
        is_next = head.seq == self.seq + 1 and self._head is not None
        if is_next and not (self._ahead or self.ended or closed) and head.fits(self._head or b""):  # as nearly always
            self._append(head.hash, ends=head.ends)
            return Verdict.NEW
        return self._judge(head, closed=closed)

    @property
    def state(self) -> IntegrityState:
        """What was counted so far."""
        highest = max(self._ahead, default=self.seq)
        return IntegrityState(
            self._condition(), self.events + len(self._ahead), highest, self.duplicates, tuple(self._problems())
        )

    @property
    def complete(self) -> bool:
        """Whether its end was counted and nothing is waited for."""
        return self.ended and not self._ahead

    def condense(self) -> None:
        """Forget what later events would be compared with: nothing more is expected. What is missing counts as lost."""
        while self._ahead:
            self._give_up()
        self._recent.clear()
        self._forks.clear()

    def _judge(self, head: Head, *, closed: bool) -> Verdict:
        if head.seq < 1:
            return self._count_broken()
        if (head.seq, head.hash) in self._forks:
            self.duplicates += 1
            return Verdict.DUPLICATE
        if head.seq <= self.seq or head.seq in self._ahead:
            return self._again(head)
        previous = self._hash_of(head.seq - 1)
        verdict = Verdict.NEW
        if previous is None or not head.fits(previous):
            if self._goes_on_from_fork(head):
                return self._fork(head)
            if previous is not None:
                verdict = self._count_broken(counted=False)
        if head.seq != self.seq + 1:
            self._wait(head, unchecked=previous is None)
            return Verdict.EARLY if verdict is Verdict.NEW else verdict
        if verdict is Verdict.NEW and (self.ended or closed):
            self.late += 1
            verdict = Verdict.LATE
        if previous is None and verdict is Verdict.NEW:
            self.unproved += 1
        self._append(head.hash, ends=head.ends)
        self._catch_up()
        return verdict

    def _again(self, head: Head) -> Verdict:
        """Its place is taken."""
        known, previous = self._hash_of(head.seq), self._hash_of(head.seq - 1)
        if known is None:
            self.unproved += 1
            return Verdict.UNPROVED
        fits = previous is None or head.fits(previous)
        if known != head.hash:
            return self._fork(head) if fits or self._goes_on_from_fork(head) else self._count_broken()
        if not fits:
            return self._count_broken()
        if previous is None and head.seq > 1:
            self.unproved += 1
            return Verdict.UNPROVED
        self.duplicates += 1
        return Verdict.DUPLICATE

    def _fork(self, head: Head) -> Verdict:
        self.forked += 1
        self.events += 1
        if len(self._forks) < FORKS_MAX:
            self._forks[head.seq, head.hash] = None
        return Verdict.FORKED

    def _count_broken(self, *, counted: bool = True) -> Verdict:
        self.broken += 1
        self.events += counted
        return Verdict.BROKEN

    def _goes_on_from_fork(self, head: Head) -> bool:
        return any(seq == head.seq - 1 and head.fits(forked) for seq, forked in self._forks)

    def _hash_of(self, seq: int) -> bytes | None:
        """The hash of a counted event, as far back as it is known."""
        if seq == self.seq:
            return self._head
        if seq > self.seq:
            found = self._ahead.get(seq)
            return None if found is None else found.hash
        if seq == 0:
            return GENESIS
        back = self.seq - seq
        return self._recent[-1 - back] if back < len(self._recent) else None

    def _append(self, event_hash: bytes, *, ends: bool) -> None:
        self.seq += 1
        self.events += 1
        self._head = event_hash
        self._recent.append(event_hash)
        self.ended = self.ended or ends

    def _wait(self, head: Head, *, unchecked: bool) -> None:
        keeps = unchecked and self._proof_bytes + len(head.content) <= PROOF_BYTES_MAX
        self._proof_bytes += len(head.content) if keeps else 0
        self._ahead[head.seq] = _Ahead(head.hash, head.ends, unchecked, head if keeps else None)
        if len(self._ahead) > AHEAD_MAX:
            self._give_up()

    def _give_up(self) -> None:
        """What is missing first counts as lost."""
        first = min(self._ahead)
        self.lost += first - 1 - self.seq
        self.seq, self._head = first - 1, None
        self._recent.clear()
        self._catch_up()

    def _catch_up(self) -> None:
        while (found := self._ahead.pop(self.seq + 1, None)) is not None:
            self.reordered += 1
            if found.head is not None:
                self._proof_bytes -= len(found.head.content)
            if (
                found.unchecked
                and found.head is not None
                and self._head is not None
                and not found.head.fits(self._head)
            ):
                if self._goes_on_from_fork(found.head):
                    self._fork(found.head)
                    continue
                self.broken += 1
            elif found.unchecked and (found.head is None or self._head is None):
                self.unproved += 1
            self._append(found.hash, ends=found.ends)

    def _condition(self) -> Condition:
        if self.broken:
            return Condition.BROKEN
        if self.forked:
            return Condition.FORKED
        if self.lost or self._ahead:
            return Condition.GAPPED
        return Condition.LATE if self.late else Condition.INTACT

    def _problems(self) -> Iterator[str]:
        if self.broken:
            yield f"{self.broken} events do not have their hash: they, or what stood before them, were changed."
        if self.forked:
            yield f"{self.forked} events take the place of others: the stream has more than one history."
        if self._ahead:
            yield f"{self._missing()} events are missing before event {max(self._ahead)}, the first of them is {self.seq + 1}."
        if self.lost:
            yield f"{self.lost} events are lost."
        if self.late:
            yield f"{self.late} events came after the stream's or the run's end."
        if self.unproved:
            yield f"{self.unproved} events could not be compared with those beside them."

    def _missing(self) -> int:
        return max(self._ahead) - self.seq - len(self._ahead)

    def to_json(self) -> Mapping[str, object]:
        """Everything but contents: events that wait with their hash unchecked will stay so."""
        return {
            "seq": self.seq,
            "head": None if self._head is None else self._head.hex(),
            "recent": b"".join(self._recent).hex(),
            "ahead": [
                [seq, one.hash.hex(), one.ends, one.unchecked] for seq, one in sorted(self._ahead.items())
            ],
            "forks": [[seq, forked.hex()] for seq, forked in sorted(self._forks)],
            "ended": self.ended,
            "counts": [getattr(self, name) for name in _COUNTS],
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> StreamAudit:
        """The inverse of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        audit = cls()
        audit.seq = _number(value["seq"])
        head, recent = cast("str | None", value["head"]), bytes.fromhex(cast("str", value["recent"]))
        audit._head = None if head is None else bytes.fromhex(head)
        audit._recent.extend(recent[at : at + 32] for at in range(0, len(recent), 32))
        for seq, event_hash, ends, unchecked in cast("list[tuple[int, str, bool, bool]]", value["ahead"]):
            audit._ahead[_number(seq)] = _Ahead(bytes.fromhex(event_hash), ends, unchecked, None)
        for seq, forked in cast("list[tuple[int, str]]", value["forks"]):
            audit._forks[_number(seq), bytes.fromhex(forked)] = None
        audit.ended = bool(value["ended"])
        for name, count in zip(_COUNTS, cast("list[object]", value["counts"]), strict=True):
            setattr(audit, name, _number(count))
        return audit


_COUNTS: Final = ("events", "duplicates", "lost", "forked", "broken", "late", "unproved", "reordered")


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    return value
