"""The one module that knows Jinja: it fills templates so that payload stays data."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

from tachograph.core.errors import InvalidSetting
from tachograph.replay_workers._report_plain import clip, plain_lines

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE = "tachograph.replay_workers"
_STRING_CHARACTERS_MAX = 8_192
"""Above every limit that a payload is shown with: what has none of its own is cut here."""
_INSTALL = "writing it needs Jinja; install it with `pip install 'tachograph[workers]'`"


def filled(template: str, values: Mapping[str, object]) -> str:
    """A page. Every string that goes into it is made harmless and escaped, whether its template thinks of it or not.

    Raises:
        InvalidSetting: Jinja is not installed.
    """
    style = _text("report.css")
    return _environment().get_template(template).render(style=style, policy=_policy(style), **values)


def _environment() -> Environment:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise InvalidSetting("report", "html", _INSTALL) from error
    return Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _harmless(value: object) -> object:
    """Strings of a page's own markup are of another class and stay as they are."""
    return plain_lines(clip(value, _STRING_CHARACTERS_MAX)) if type(value) is str else value


def _text(name: str) -> str:
    return (resources.files(_PACKAGE) / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str) -> str:
    """Nothing may be loaded or run; of styles, only the one that is in the page."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
