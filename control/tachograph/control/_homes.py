"""Opening a home and finding runs in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from tachograph.control._errors import AmbiguousRun, NotArchivedYet
from tachograph.control._settings import Settings
from tachograph.core.causality import hlc_ms
from tachograph.core.errors import CorruptFrame, UnknownRun
from tachograph.core.state import RunState, empty, fold
from tachograph.schemas import Event, UnsupportedSchema, decode, is_optional
from tachograph.stores import Home, LocalLog, TenantKeys
from tachograph.stores.backend import backend_of

LATEST = "latest"
"""Names the run that started last."""

_PREFIX = "run-"
"""Ids begin with it; nobody has to type it."""

_SHORTEST_ID = 12


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run as it lies in the log."""

    run_id: str
    events: tuple[Event, ...]
    state: RunState


def open_home(settings: Settings) -> Home:
    """The home of this invocation.

    Where runs lie on servers, a home is made when there is none: it only keeps what was fetched.

    Raises:
        CallerError: there is none, or a newer release made it.
    """
    keys = None if settings.raw_keys is None else TenantKeys(settings.raw_keys)
    backend = backend_of()
    return Home.open(settings.home, create=backend.s3 is not None, keys=keys, backend=backend)


def resolve_run(home: Home, text: str) -> str:
    """The id of the run that a person means: the whole id, the beginning of one, or `latest`.

    Raises:
        UnknownRun: no run's id begins so.
        AmbiguousRun: several do.
        NotArchivedYet: the catalogue knows it, but nothing of it can be read yet.
    """
    run_ids = list(home.log.run_ids())
    if text in run_ids:
        return text
    if text == LATEST and run_ids:
        return run_ids[-1]
    found = [run_id for run_id in run_ids if text and run_id.startswith((text, _PREFIX + text))]
    if not found:
        _refuse_unarchived(home, text)
        raise UnknownRun(text, str(home.path), tuple(get_close_matches(text, run_ids, 3, 0.5)))
    if len(found) > 1:
        raise AmbiguousRun(text, found)
    return found[0]


def _refuse_unarchived(home: Home, text: str) -> None:
    known = [] if home.archive is None else [row.run_id for row in home.catalogue.runs()]
    for run_id in reversed(known):
        if text == LATEST or (text and run_id.startswith((text, _PREFIX + text))):
            raise NotArchivedYet(run_id)


def load_run(home: Home, run_id: str) -> LoadedRun:
    """Every event of a run that can be read, in causal order, and the state they fold to.

    Raises:
        UnknownRun: there is no such run.
        CorruptFrame: it lies in the archive, and that is damaged.
    """
    try:
        stored = list(home.log.read_run(run_id))
    except CorruptFrame as error:
        # The catalogue knows where the run lay before it was damaged; a scan finds what is whole around the damage.
        try:
            stored = list(LocalLog(home.log.path).read_run(run_id))
        except UnknownRun:
            raise error from None
    events = sorted((event for found in stored if (event := _known(found.payload)) is not None), key=_causal_order)
    state = empty(run_id)
    for event in events:
        state = fold(state, event)
    return LoadedRun(run_id, tuple(events), state)


def _known(payload: bytes) -> Event | None:
    """An event; None for one of a newer release that may be passed over."""
    try:
        return decode(payload)
    except UnsupportedSchema:
        if not is_optional(payload):
            raise
        return None


def _causal_order(event: Event) -> tuple[int, str, int, int]:
    meta = event.meta
    return meta.hlc, meta.agent_id, meta.incarnation, meta.seq


def started_ms(events: Sequence[Event]) -> int:
    """When a run began, milliseconds since 1970; 0 for no events."""
    return min((hlc_ms(event.meta.hlc) for event in events), default=0)


def short_ids(run_ids: Sequence[str]) -> dict[str, str]:
    """Each id's beginning, long enough to tell it from all the others."""
    ordered = sorted(run_ids)
    lengths = dict.fromkeys(ordered, _SHORTEST_ID)
    for one, other in pairwise(ordered):
        needed = _common_length(one, other) + 1
        lengths[one] = max(lengths[one], needed)
        lengths[other] = max(lengths[other], needed)
    return {run_id: run_id[:length] for run_id, length in lengths.items()}


def _common_length(one: str, other: str) -> int:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length
