"""The service `process`: runs processors, each in a thread, until all are to end or one fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ProcessOptions
from tachograph.stores.backend import Backend, backend_of
from tachograph.stream_processors._health import StatusAddress
from tachograph.stream_processors.archive import run_archive
from tachograph.stream_processors.fold import run_fold


@dataclass(frozen=True, slots=True)
class _Place:
    """What a processor is given."""

    directory: Path
    backend: Backend
    status: StatusAddress | None


def process(options: ProcessOptions, stop: Event) -> None:
    """Run processors until `stop` is set; where one fails, the others end in good order.

    Raises:
        InvalidSetting: there is no processor of that name, or a server that it needs is not set.
        StoreUnavailable: a server failed for longer than it is waited for.
    """
    backend = backend_of()
    for name in options.names:
        if name not in _PROCESSORS:
            raise InvalidSetting("process", name, f"the processors are {', '.join(_PROCESSORS)}")
    places = [_place(options, backend, number) for number in range(len(options.names))]
    if len(places) == 1:
        _PROCESSORS[options.names[0]](places[0], stop)
        return
    _together([(_PROCESSORS[name], place) for name, place in zip(options.names, places, strict=True)], stop)


_Run = Callable[[_Place, Event], None]


def _place(options: ProcessOptions, backend: Backend, number: int) -> _Place:
    port = options.metrics_port
    status = None if port is None else StatusAddress(options.metrics_host, port + number if port else 0)
    return _Place(options.directory / options.names[number], backend, status)


def _together(processors: Sequence[tuple[_Run, _Place]], stop: Event) -> None:
    failures: list[BaseException] = []

    def run(processor: _Run, place: _Place) -> None:
        try:
            processor(place, stop)
        except BaseException as error:  # noqa: BLE001 it is raised where the threads are joined
            failures.append(error)
            stop.set()

    threads = [threading.Thread(target=run, args=each, name=each[1].directory.name) for each in processors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _archive(place: _Place, stop: Event) -> None:
    run_archive(place.directory, place.backend, stop, status=place.status)


def _fold(place: _Place, stop: Event) -> None:
    run_fold(place.directory, place.backend, stop, status=place.status)


def _insights(place: _Place, stop: Event) -> None:
    from tachograph.stream_processors._insights_status import run_insights_with_status  # Faust is heavy to import

    run_insights_with_status(place.backend, stop, place.status)


_PROCESSORS: Final[dict[str, _Run]] = {"archive": _archive, "fold": _fold, "insights": _insights}
