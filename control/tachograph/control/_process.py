"""`tacho process`: the stream processors, until they are told to end."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event
from types import FrameType

from tachograph.control._answer import Answer, Document
from tachograph.control._parser import Commands, add_command
from tachograph.control._screen import Screen
from tachograph.control._services import process_service
from tachograph.control._settings import Settings
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ProcessOptions

NAMES = ("archive", "fold", "insights")
_ALL = "all"
_PORT_MAX = 65_535
_EPILOG = (
    "Several may run at once, on one machine or on many: they share the partitions. SIGTERM and Ctrl-C end it in good "
    "order: what was read is stored and committed first. It ends with an error where a server fails for longer than two "
    "minutes, or where nothing moves for five; start it again then, as Kubernetes and systemd do."
)


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "process", "run stream processors: archive, fold, insights", _process, _EPILOG)
    parser.add_argument("name", choices=(*NAMES, _ALL), help="which one, or all three in this process")
    parser.add_argument(
        "--metrics-host", metavar="HOST", default="127.0.0.1", help="where /healthz and /metrics listen"
    )
    parser.add_argument(
        "--metrics-port",
        metavar="PORT",
        type=int,
        help="their port; with `all`, that of the first, the others behind it (default: they are not served)",
    )


def _process(arguments: argparse.Namespace, settings: Settings) -> Answer:
    names = NAMES if arguments.name == _ALL else (str(arguments.name),)
    port = arguments.metrics_port
    if port is not None and not 0 <= port <= _PORT_MAX - len(names):
        raise InvalidSetting("--metrics-port", port, f"it must be 0 (any) to {_PORT_MAX - len(names)}")
    options = ProcessOptions(names, settings.home / "process", str(arguments.metrics_host), port)
    with _until_told() as stop:
        process_service()(options, stop)
    document: dict[str, Document] = {"processors": list(names)}
    return Answer(document, lambda screen: _render(screen, names))


@contextmanager
def _until_told() -> Generator[Event]:
    """An event that is set by SIGTERM or Ctrl-C."""
    stop = Event()

    def told(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()

    before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _render(screen: Screen, names: tuple[str, ...]) -> None:
    screen.line(f"Ended in good order: {', '.join(names)}.")
