"""The `replay` service: runs of a home, re-driven over several processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import cast

from tachograph.core.boundary import RunContext
from tachograph.core.errors import InternalError, TachographError, UnknownRun
from tachograph.core.ports import Progress, ReplayOptions, ReplayResult
from tachograph.core.replay import Skim, UnitResult, Verdict, verdict
from tachograph.replay_workers._alternatives import Otherwise
from tachograph.replay_workers._collector import collector_paused
from tachograph.replay_workers._cut import with_code
from tachograph.replay_workers._evidence import Evidence
from tachograph.replay_workers._import import code_digest
from tachograph.replay_workers._process import ProcessLost, ReplayProcess, asked_bytes, digest_answer
from tachograph.replay_workers._raw_values import with_raw_values
from tachograph.replay_workers._readers import Readers, Work, may_fork
from tachograph.replay_workers._reading import evidence_of
from tachograph.replay_workers._result_json import attempt_of, otherwise_json
from tachograph.replay_workers._search import reproduced
from tachograph.replay_workers._sketch import Unsound, sketch_of
from tachograph.replay_workers._unit import Attempt, Unit
from tachograph.replay_workers._wire import Frame
from tachograph.replay_workers._wire_unit import unit_frames
from tachograph.schemas import EffectTransitioned, Event
from tachograph.stores import Home, TenantKeys

_PREPARE_EVENTS = 50


def replay(
    home: Path, run_ids: Sequence[str], options: ReplayOptions, jobs: int, progress: Progress
) -> Sequence[ReplayResult]:
    """Replay runs exactly, over `jobs` processes; results in the order of `run_ids`.

    Nothing is written: the log's bytes are the same before and after.

    Raises:
        UnknownRun: there is no such run.
    """
    opened = _opened(home, options)
    known = set(opened.log.run_ids())
    for run_id in run_ids:
        if run_id not in known:
            raise UnknownRun(run_id, str(home))
    several = list(dict.fromkeys(run_ids))
    jobs = max(1, min(jobs, len(several)))
    found = (
        _read_apart(home, opened, several, options, jobs)
        if jobs > 1 and may_fork()
        else _read_here(opened, several, options, jobs)
    )
    results: dict[str, ReplayResult] = {}
    with closing(found):
        for result in found:
            results[result.run_id] = result
            progress(len(results), len(several), result.run_id)
    return [results[run_id] for run_id in run_ids]


def _opened(home: Path, options: ReplayOptions) -> Home:
    return Home.open(home, keys=None if options.raw_keys is None else TenantKeys(options.raw_keys))


def _read_here(home: Home, run_ids: Sequence[str], options: ReplayOptions, jobs: int) -> Generator[ReplayResult]:
    """Replay runs by threads of this process, as they come."""
    with _Pool(jobs) as pool:
        for finished in as_completed([pool.submit(home, run_id, options) for run_id in run_ids]):
            yield finished.result()


def _read_apart(
    home: Path, opened: Home, run_ids: Sequence[str], options: ReplayOptions, jobs: int
) -> Generator[ReplayResult]:
    """Replay runs by processes of their own, as they come."""
    _prepare(opened, run_ids[0])

    def serve(answer_all: Callable[[Work], None]) -> None:
        with ReplayProcess() as process:
            process.start()
            own = _opened(home, options)  # its own files: those of the parent's would share their positions
            answer_all(lambda run_id: replay_run(own, run_id, options, process))

    with Readers(jobs, serve) as readers:
        yield from readers.results(run_ids)


def _prepare(home: Home, run_id: str) -> None:
    """Read the beginning of a run: what reads a kind of event is compiled at the first one, here once for all readers."""
    with suppress(TachographError):  # what is wrong with the run is said when it is replayed
        Skim().take(stored.payload for stored in islice(home.log.read_run(run_id), _PREPARE_EVENTS))


def replay_run(home: Home, run_id: str, options: ReplayOptions, process: ReplayProcess) -> ReplayResult:
    """Replay one run; whatever is wrong with it is in the result."""
    began = time.monotonic()
    name, error = "", None
    try:
        evidence, attempts = _driven(home, run_id, options, process)
        name = evidence.name
        found = _verdict(evidence, attempts)
    except TachographError as failure:
        error = str(failure)
        found = verdict([], missing=[error])
    return ReplayResult(run_id, name or _recorded_name(home, run_id), found, time.monotonic() - began, error)


def _recorded_name(home: Home, run_id: str) -> str:
    """The name of a run whose evidence is not whole; empty where even that cannot be told."""
    try:
        return home.catalogue.run(run_id).name
    except TachographError:
        return ""


def _driven(home: Home, run_id: str, options: ReplayOptions, process: ReplayProcess) -> tuple[Evidence, list[Attempt]]:
    """A run's evidence, and what its units did."""
    with collector_paused():
        sketch = sketch_of(home, run_id) if not options.raw else None
    if sketch is not None:
        evidence = sketch.evidence
        checking = sketch.checking  # goes on with the first unit, and to its end
        try:
            attempts = [_attempted(home, sketch.events, unit, options, process, checking) for unit in evidence.units]
            return evidence, attempts
        except Unsound:
            pass
        finally:
            checking.close()
    with collector_paused():
        evidence = evidence_of(home, run_id)
        if options.raw:
            with_raw_values(home, evidence)
    events = evidence.events
    return evidence, [_attempted(home, lambda: events, unit, options, process) for unit in evidence.units]


def _attempted(
    home: Home,
    events: Callable[[], Sequence[Event]],
    recorded: Unit,
    options: ReplayOptions,
    process: ReplayProcess,
    checking: Iterable[int] = (),
) -> Attempt:
    unit = with_code(recorded, options)

    def answer(question: Frame) -> Frame:
        if question["ask"] == "digest":
            return digest_answer(home.digester.digest(asked_bytes(question)))
        return {"context": head_of(events(), question).to_text()}

    def once(otherwise: Otherwise) -> Attempt:
        frames = unit_frames(unit, {"otherwise": otherwise_json(otherwise)}, checking)
        return attempt_of(process.run(frames, answer, options.seconds_max), otherwise)

    try:
        return reproduced(once)
    except ProcessLost as lost:
        for _ in checking:
            pass
        return Attempt(undriven(unit, f"The replay of {unit.key[0]!r} was given up: {lost}."))


def _verdict(evidence: Evidence, attempts: Sequence[Attempt]) -> Verdict:
    sources = {attempt.source for attempt in attempts if attempt.source is not None}
    digests = sorted({digest for source in sources if (digest := code_digest(source)) is not None})
    results = [attempt.result for attempt in attempts]
    results += [UnitResult(driven=False)] * evidence.undriven
    return verdict(
        results,
        fidelity=evidence.fidelity,
        missing=evidence.missing,
        taints=evidence.taints,
        recorded_code=evidence.code,
        replayed_code=", ".join(digests) or None,
    )


def undriven(unit: Unit, reason: str) -> UnitResult:
    """What a unit showed that could not be driven to its end."""
    return UnitResult(
        steps_recorded=sum(len(stream.steps) for stream in unit.streams),
        agents=len(unit.streams),
        driven=False,
        missing=(reason,),
    )


def head_of(events: Sequence[Event], question: Frame) -> RunContext:
    """The stream's latest event, at or behind the one that control logic knew of: what the ledger adds comes after it."""
    stream = (question["agent"], question["incarnation"])
    latest: Event | None = None
    for event in events:
        if (event.meta.agent_id, event.meta.incarnation) != stream:
            continue
        seq = cast("int", question["seq"])
        if event.meta.seq <= seq or (latest is not None and isinstance(event, EffectTransitioned)):
            latest = event
        else:
            break
    if latest is None:
        raise InternalError(f"a replay asked for the head of {stream!r}, which the recording does not have")
    meta = latest.meta
    return RunContext(meta.run_id, meta.agent_id, meta.incarnation, meta.seq, meta.hlc, meta.hash.hex())


class _Pool:
    """Threads that each own a replaying process."""

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="replay")
        self._idle: SimpleQueue[ReplayProcess] = SimpleQueue()
        self._processes = [ReplayProcess() for _ in range(jobs)]
        for process in self._processes:
            process.start()  # while evidence is read, it imports what it needs
            self._idle.put(process)

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is not None:
            for process in self._processes:
                process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.close()

    def submit(self, home: Home, run_id: str, options: ReplayOptions) -> Future[ReplayResult]:
        return self._threads.submit(self._run, home, run_id, options)

    def _run(self, home: Home, run_id: str, options: ReplayOptions) -> ReplayResult:
        with self._taken() as process:
            return replay_run(home, run_id, options, process)

    @contextmanager
    def _taken(self) -> Generator[ReplayProcess]:
        process = self._idle.get()
        try:
            yield process
        finally:
            self._idle.put(process)
