"""The recorder: what a service holds one of, and what runs are recorded through."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar, overload

from tachograph.core.boundary import Agent, InputSnapshot, Run, RunContext, Sources, SyncAgent
from tachograph.core.ports import KeyWrapper, Transport
from tachograph.core.redaction import DEFAULT_POLICY, RedactionPolicy, policy_of
from tachograph.producers._directory import DirectoryTransport
from tachograph.producers._drive import driven
from tachograph.producers._entrypoint import entrypoint_named, entrypoint_of
from tachograph.producers._exit import close_at_exit
from tachograph.producers._forks import tell_children
from tachograph.producers._in_process import InProcessTransport
from tachograph.producers._life import Life
from tachograph.producers._opening import RunOpening, Started
from tachograph.producers._reconcile import Decision, Reconciler, ask, decide
from tachograph.producers._settings import OnBrokenLog, Settings
from tachograph.producers._ship import shipper_of
from tachograph.producers._sources import SystemSources, new_run_id
from tachograph.producers._starts import Invocation, JoinStart, RunStart, start_join, start_run
from tachograph.producers._statistics import Statistics
from tachograph.stores import Home, TenantKeys
from tachograph.stores.backend import Backend, backend_of

if TYPE_CHECKING:
    from tachograph.producers.shipper import Shipper

P = ParamSpec("P")
T = TypeVar("T")


class Recorder:
    """Records runs into a home. One recorder per process is enough; it may be used from any thread and event loop.

    Args:
        home: directory of the recordings; made when it is not there.
        tenant: owner of the runs.
        redaction: what is replaced before anything is written; `NO_REDACTION` switches it off.
        transport: carries messages between agents; by default within this process.
        sources: where clock reads, random seeds and ids come from; by default the machine.
        inputs: versions that can change a decision, for the input snapshot of every run.
        raw: keep what redaction takes out, sealed; True keeps the tenant's key in the home, beside what it protects.
        retention: retention class of the runs.
        ship: the servers that events are carried to while they are recorded; None: they stay in the home.
        on_broken_log: what calls without an effect do once the log cannot be written; effects are always refused.
        fsync_interval_ms: the longest that an event waits for its fsync.
        queue_events_max: events that wait for the writer before callers are made to wait.
        queue_bytes_max: the same in bytes.

    Raises:
        InvalidSetting: a setting cannot be.
        StoreUnavailable: the home cannot be made.
    """

    def __init__(  # noqa: PLR0913 every one is named and optional
        self,
        home: str | Path = ".tacho",
        *,
        tenant: str = "default",
        redaction: RedactionPolicy = DEFAULT_POLICY,
        transport: Transport | None = None,
        sources: Sources | None = None,
        inputs: Mapping[str, object] | None = None,
        raw: bool | KeyWrapper = False,
        retention: str = "default",
        ship: Backend | None = None,
        on_broken_log: OnBrokenLog = "fail",
        fsync_interval_ms: int = 200,
        queue_events_max: int = 50_000,
        queue_bytes_max: int = 64 * 1024 * 1024,
    ) -> None:
        self._settings = Settings(
            home=str(home),
            tenant=tenant,
            raw=raw is not False,
            on_broken_log=on_broken_log,
            fsync_interval_ms=fsync_interval_ms,
            queue_events_max=queue_events_max,
            queue_bytes_max=queue_bytes_max,
        )
        self._redaction = redaction
        self._transport: Transport = transport or InProcessTransport()
        self._sources: Sources = sources or SystemSources()
        self._inputs = dict(inputs or {})
        self._retention = retention
        self._keys = None if isinstance(raw, bool) else raw
        self._home = Home.open(self._settings.home, create=True, keys=self._keys, backend=ship)
        if self._settings.raw:
            self._home.raw.check_installed()
        self._ship = ship
        self._life = self._new_life()
        self._latest_run_id: str | None = None
        self._reconcilers: dict[str, Reconciler] = {}
        tell_children(self)
        close_at_exit(self)

    @classmethod
    def from_env(cls) -> Recorder:
        """A recorder set by the environment, see docs/settings.md.

        Raises:
            InvalidSetting: a variable has a value that cannot be.
        """
        settings, servers = Settings.from_environment(), backend_of()
        return cls(
            settings.home,
            tenant=settings.tenant,
            redaction=policy_of(settings.redaction) if settings.redaction else DEFAULT_POLICY,
            transport=DirectoryTransport(settings.mailbox) if settings.mailbox else None,
            raw=TenantKeys(settings.raw_keys) if settings.raw and settings.raw_keys else settings.raw,
            ship=servers if servers.kafka is not None else None,
            on_broken_log=settings.on_broken_log,
            fsync_interval_ms=settings.fsync_interval_ms,
        )

    @property
    def home(self) -> Home:
        """Where the recordings are."""
        return self._home

    @property
    def shipper(self) -> Shipper | None:
        """Carries the events on, where there are servers to carry them to."""
        return self._shipper

    @property
    def latest_run_id(self) -> str | None:
        """The run that was started last, if any was."""
        return self._latest_run_id

    @overload
    def record(
        self,
        entrypoint: Callable[Concatenate[Run, P], Coroutine[object, object, T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Coroutine[object, object, T]: ...
    @overload
    def record(self, entrypoint: Callable[Concatenate[Run, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...
    def record(self, entrypoint: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        """Run control logic, `entrypoint(run, *args, **kwargs)`, and record it so that it can be re-driven.

        Returns:
            What the entry point returns; a coroutine of it where it is a coroutine function.

        Raises:
            UnserialisableValue: an argument cannot be recorded; nothing was run.
            SpoolUnwritable: the log cannot be written to the run's end.
        """
        start = RunStart(getattr(entrypoint, "__name__", type(entrypoint).__name__), self._inputs, self._retention)
        invocation = Invocation(entrypoint_of(entrypoint), args, kwargs)
        return driven(lambda: self._start_run(start, invocation), Run, entrypoint, args, kwargs)

    def run(
        self,
        name: str,
        *,
        entrypoint: str | Callable[..., object] | None = None,
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
        inputs: InputSnapshot | Mapping[str, object] | None = None,
        parent_run_id: str | None = None,
    ) -> RunOpening:
        """Open a run: `async with recorder.run("refund-desk") as run`, or `with`.

        Args:
            name: of the run, for people.
            entrypoint: what a replay is to re-drive, as `module:qualified_name` or the function; without it the run
                can be looked at and verified, and not re-driven.
            args: the entry point's arguments, without the run.
            kwargs: its keyword arguments.
            inputs: versions that can change a decision.
            parent_run_id: the run that this one continues.

        Raises:
            UnserialisableValue: an argument cannot be recorded.
        """
        found = entrypoint_named(entrypoint) if isinstance(entrypoint, str) else None
        if entrypoint is not None and not isinstance(entrypoint, str):
            found = entrypoint_of(entrypoint)
        stated = inputs.versions if isinstance(inputs, InputSnapshot) else inputs or {}
        start = RunStart(name, {**self._inputs, **stated}, self._retention, parent_run_id)
        invocation = Invocation(found, args, kwargs or {})
        return RunOpening(lambda: self._start_run(start, invocation))

    @overload
    def join(
        self,
        context: RunContext | str,
        agent_id: str,
        entrypoint: Callable[Concatenate[Agent, P], Coroutine[object, object, T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Coroutine[object, object, T]: ...
    @overload
    def join(
        self,
        context: RunContext | str,
        agent_id: str,
        entrypoint: Callable[Concatenate[SyncAgent, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T: ...
    def join(
        self,
        context: RunContext | str,
        agent_id: str,
        entrypoint: Callable[..., object],
        /,
        *args: object,
        **kwargs: object,
    ) -> object:
        """Become an agent of a run that another process started: `entrypoint(agent, *args, **kwargs)`.

        Args:
            context: what the run's process handed on (`run.context()`, as it is or as text).
            agent_id: the agent to be; a restarted one is its next incarnation.
            entrypoint: its control logic.
            args: arguments of the entry point.
            kwargs: keyword arguments of the entry point.

        Raises:
            InvalidIdentifier: the context is none, or nobody can have this id.
            UnserialisableValue: an argument cannot be recorded; nothing was run.
        """
        joined = RunContext.from_text(context) if isinstance(context, str) else context
        start = JoinStart(joined, agent_id, self._inputs)
        invocation = Invocation(entrypoint_of(entrypoint), args, kwargs)
        face = Agent if inspect.iscoroutinefunction(entrypoint) else SyncAgent
        return driven(lambda: start_join(self._life, start, invocation), face, entrypoint, args, kwargs)

    def reconcile(self, effect_id: str, happened: bool, reason: str, by: str) -> None:
        """Decide an UNKNOWN effect, in whichever run of this home it is.

        Args:
            effect_id: `event_id` of the effect's CallStarted.
            happened: whether the effect happened; where it did not, it may be tried again.
            reason: how it is known.
            by: who says so: `person:NAME` or `reconciler:NAME`; a bare name is a person's.

        Raises:
            UnknownEffect: there is no such effect, or it is not UNKNOWN.
            SpoolUnwritable: the decision could not be recorded durably.
        """
        decide(self._life, effect_id, happened=happened, reason=reason, by=by)

    def register_reconciler(self, tool_name: str, reconciler: Reconciler) -> None:
        """Let a function find out about a tool's UNKNOWN effects; see `reconcile_unknown`."""
        self._reconcilers[tool_name] = reconciler

    def reconcile_unknown(self, run_id: str | None = None) -> tuple[Decision, ...]:
        """Ask the registered reconcilers about the UNKNOWN effects of a run, or of every run, and record what they know.

        Raises:
            SpoolUnwritable: a decision could not be recorded durably.
        """
        return ask(self._life, self._reconcilers, run_id)

    def flush(self) -> None:
        """Make everything recorded so far durable.

        Raises:
            SpoolUnwritable: it is not.
        """
        self._life.journal.flush()

    def close(self) -> None:
        """Make everything durable and seal the log. Closing twice is as closing once; recording again opens a new log.

        Events on their way to servers are waited for, for some seconds; `tacho ship` carries the rest.

        Raises:
            SpoolUnwritable: the log could not be written to its end.
        """
        try:
            self._life.journal.close()
        finally:
            if self._shipper is not None:
                self._shipper.close()

    def statistics(self) -> Statistics:
        """What the recorder has done so far."""
        return self._life.journal.statistics()

    def forked(self) -> None:
        """Start anew in a forked child; called by the interpreter."""
        self._life.journal.abandon()
        if isinstance(self._transport, InProcessTransport):
            self._transport.forked()
        self._home = Home.open(self._settings.home, keys=self._keys, backend=self._ship)
        self._life = self._new_life()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Recorder(home={self._settings.home!r}, tenant={self._settings.tenant!r})"

    def _new_life(self) -> Life:
        self._shipper = shipper_of(self._home.path, self._ship)
        follow = None if self._shipper is None else self._shipper.follow
        return Life(self._home, self._settings, self._redaction, self._sources, self._transport, follow)

    def _start_run(self, start: RunStart, invocation: Invocation) -> Started:
        run_id = new_run_id()
        started = start_run(self._life, run_id, start, invocation)
        self._latest_run_id = run_id
        return started
