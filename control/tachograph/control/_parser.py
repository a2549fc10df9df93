"""The argument parser: common options work before and after the command, mistakes end in exit code 64."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from tachograph.control._answer import Answer
from tachograph.control._errors import UsageError
from tachograph.control._settings import Settings

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    Commands: TypeAlias = argparse._SubParsersAction["Parser"]  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 argparse has no public name for it
else:
    Commands = object

Handler = Callable[[argparse.Namespace, Settings], Answer]
"""Runs a command."""


class _Once(argparse._StoreAction):  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 what stores by default has no public name
    """Stores an option's value; of two, argparse would take the last and say nothing of the other."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if option_string is not None:
            given: set[str] = vars(namespace).setdefault("given", set())
            if self.dest in given:
                parser.error(f"{option_string} is given twice; it takes one value")
            given.add(self.dest)
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of exiting."""

    def __init__(self, **options: Any) -> None:  # those of argparse, which names them
        super().__init__(**options)
        self.register("action", None, _Once)

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise UsageError(message, f"See `{self.prog} --help`.")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Write the help; an output that takes no more is heard of, which argparse would hush up."""
        (file or sys.stdout).write(self.format_help())


def new_parser(version: str) -> tuple[Parser, Commands]:
    """The parser of `tacho`, still without commands, and where to add them."""
    parser = Parser(
        prog="tacho",
        description="Flight recorder of LLM agent fleets: look at recorded runs, replay them, fork them.",
        epilog="Exit codes: 0 done or reproduced; 1 diverged or damaged; 2 limited or refused; 64 usage; 70 internal.",
        allow_abbrev=False,
        parents=[_common()],
    )
    parser.add_argument("--version", action="version", version=f"tacho {version}")
    return parser, parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)


def add_command(commands: Commands, name: str, summary: str, handler: Handler, epilog: str | None = None) -> Parser:
    """Add a command with the common options."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=epilog,
        allow_abbrev=False,
        parents=[_common()],
    )
    parser.set_defaults(handler=handler)
    return parser


def add_run(parser: argparse.ArgumentParser, name: str = "run", help_text: str | None = None) -> None:
    """Add an argument that names a run."""
    shown = help_text or "run id, the beginning of one, or `latest`"
    parser.add_argument(name, metavar=name.upper(), help=shown)


def _common() -> Parser:
    """Options of every command; absent ones leave no trace, so that both places can set them."""
    common = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = common.add_argument_group("common options")
    group.add_argument("--home", metavar="DIR", help="where runs are recorded (default: TACHO_HOME, else ./.tacho)")
    group.add_argument("--json", action="store_true", help="print one JSON document; its shape is in docs/cli.md")
    group.add_argument("--debug", action="store_true", help="show the traceback of an unexpected error")
    return common
