"""From arguments to exit code: parse, run, show; every error becomes one message and the right code."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import cast

from tachograph.control._answer import Answer, Document
from tachograph.control._commands import register_all
from tachograph.control._errors import OutputUnwritable, UsageError
from tachograph.control._escape import escape
from tachograph.control._exit import ExitCode
from tachograph.control._parser import Handler, new_parser
from tachograph.control._screen import Screen
from tachograph.control._settings import Settings, settings_of
from tachograph.core.errors import TachographError

FORMAT = 1
"""Version of the JSON output's envelope."""


def invoke(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code. Only Ctrl-C is raised."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] # the shell closed it
        _say("standard output is closed. Send it somewhere, as in `tacho … > /dev/null`.")
        return ExitCode.INTERNAL
    _be_lenient(sys.stdout)
    _be_lenient(sys.stderr)
    try:
        with _translated():
            code = _run(arguments)
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return ExitCode.PIPE_CLOSED
    except OutputUnwritable as error:
        _drop_output()
        _say(str(error))
        return error.exit_code
    return code


@contextmanager
def _translated() -> Generator[None]:
    """What the operating system has against the output, as an error of ours."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputUnwritable(error.strerror or str(error)) from error


def _run(arguments: Sequence[str]) -> int:
    command = None
    settings = settings_of(None, os.environ, json="--json" in arguments, debug="--debug" in arguments, terminal=False)
    try:
        with _translated():
            namespace = _parse(arguments)
        if namespace is None:
            return ExitCode.OK
        command = str(namespace.command)
        settings = _settings(namespace)
        answer = cast("Handler", namespace.handler)(namespace, settings)
        with _translated():
            _show(command, answer, settings)
    except (BrokenPipeError, KeyboardInterrupt, OutputUnwritable):
        raise
    except TachographError as error:
        return _fail(command, error, error.exit_code, settings)
    except Exception as error:  # noqa: BLE001 the last resort: a person gets a sentence, not a traceback
        return _fail(command, error, ExitCode.INTERNAL, settings)
    return answer.exit_code


def _parse(arguments: Sequence[str]) -> argparse.Namespace | None:
    """The parsed arguments; None where help or version was asked for and shown."""
    parser, commands = new_parser(version("tachograph"))
    register_all(commands)
    try:
        namespace = parser.parse_args(list(arguments))
    except SystemExit:
        return None
    if namespace.command is None:
        problem = "no command given"
        raise UsageError(problem, "See `tacho --help`.")
    return namespace


def _settings(namespace: argparse.Namespace) -> Settings:
    given = cast("Mapping[str, object]", vars(namespace))
    home = given.get("home")
    return settings_of(
        None if home is None else str(home),
        os.environ,
        json=bool(given.get("json")),
        debug=bool(given.get("debug")),
        terminal=sys.stdout.isatty(),
    )


def _show(command: str, answer: Answer, settings: Settings) -> None:
    if settings.json:
        _write_json({"format": FORMAT, "command": command, "exit_code": answer.exit_code, "result": answer.document})
    else:
        columns = shutil.get_terminal_size((120, 24)).columns
        answer.render(Screen(sys.stdout, colour=settings.colour, columns=columns))


def _fail(command: str | None, error: Exception, code: int, settings: Settings) -> int:
    if settings.debug and sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] # the shell closed it
        for line in "".join(traceback.format_exception(error)).splitlines():
            print(escape(line), file=sys.stderr)  # noqa: T201 the face of the command line
    expected = isinstance(error, TachographError)
    message = str(error) if expected else f"unexpected {type(error).__name__}: {error}. See more with `--debug`."
    _say(message)
    if settings.json:
        about: Document = {"type": type(error).__name__, "message": message}
        _write_json({"format": FORMAT, "command": command, "exit_code": code, "error": about})
    return code


def _write_json(document: Document) -> None:
    """ASCII only: what JSON escapes cannot steer a terminal."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=True)
    sys.stdout.write("\n")


def _say(message: str) -> None:
    """A line on standard error, where there is one that takes it."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] # the shell closed it
        with suppress(OSError):
            print(f"tacho: {escape(message)}", file=sys.stderr, flush=True)  # noqa: T201 the face of the command line


def _be_lenient(stream: object) -> None:
    """A terminal that lacks a character gets its name instead of an error."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Nobody reads on: let the interpreter's last flush go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
