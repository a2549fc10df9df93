"""Entry points: the name by which a replay finds control logic again, and where its code lies."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

_LOG = logging.getLogger("tachograph.producers")

MAIN_NAMES = frozenset({"__main__", "__mp_main__"})
"""What the module that was started is called, here and in a process that multiprocessing started."""


@dataclass(frozen=True, slots=True)
class Entrypoint:
    """A function of control logic, as a replay can import it."""

    text: str
    """`module:qualified_name`."""
    code_path: Path | None
    """What must stand on `sys.path` for the module to be importable."""
    source: Path | None
    """The module's source file, or the directory of the package that it belongs to."""


def entrypoint_of(function: Callable[..., object]) -> Entrypoint | None:
    """The entry point of a function; None, and a warning, where a replay could not import it: lambdas, closures, …"""
    found = _found(function)
    if found is None:
        _LOG.warning(
            "tachograph: %r cannot be imported by name, so its runs can be looked at and not re-driven; "
            "make it a function at the top of a module",
            getattr(function, "__qualname__", type(function).__qualname__),
        )
    return found


def _found(function: Callable[..., object]) -> Entrypoint | None:
    qualified = getattr(function, "__qualname__", None)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if not isinstance(qualified, str) or module is None or not _is_reachable(module, qualified, function):
        return None
    name = importable_name(module)
    if name is None:
        return None
    code_path, source = _where(module, name)
    return Entrypoint(f"{name}:{qualified}", code_path, source)


def entrypoint_named(text: str) -> Entrypoint:
    """An entry point given by its name; where its code lies is known if its module is imported."""
    name = text.partition(":")[0]
    module = sys.modules.get(name)
    code_path, source = _where(module, name) if module is not None else (None, None)
    return Entrypoint(text, code_path, source)


def _is_reachable(module: ModuleType, qualified: str, function: object) -> bool:
    found: object = module
    for part in qualified.split("."):
        found = getattr(found, part, None)
    return found is not None and found == function


def importable_name(module: ModuleType) -> str | None:
    """The name under which another process imports the module: `__main__` is the name of another one there."""
    if module.__name__ not in MAIN_NAMES:
        return module.__name__
    spec = getattr(module, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(module, "__file__", None)
    stem = Path(file).stem if isinstance(file, str) else ""
    return stem if stem.isidentifier() else None


def _where(module: ModuleType, name: str) -> tuple[Path | None, Path | None]:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return None, None
    path = Path(file).resolve()
    is_package = path.stem == "__init__"
    depth = name.count(".") + (1 if is_package else 0)
    root = path.parent
    for _ in range(depth):
        root = root.parent
    return root, root / name.partition(".")[0] if depth else path
