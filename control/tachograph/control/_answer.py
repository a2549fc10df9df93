"""What a command hands back: data first, and how to show it to a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

from tachograph.control._exit import ExitCode
from tachograph.control._screen import Screen

Document: TypeAlias = Union[bool, int, float, str, "Sequence[Document]", "Mapping[str, Document]", None]
"""A value that JSON can write."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A command's answer."""

    document: Mapping[str, Document]
    """`result` of the JSON output; its shape is documented in `docs/cli.md`."""
    render: Callable[[Screen], None]
    """Shows the same to a person."""
    exit_code: ExitCode = ExitCode.OK
