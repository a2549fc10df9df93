"""What the tests of the house look at: source files, packages and their public names."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINNED = ROOT / "tests" / "golden" / "public_names.txt"
SOURCE_ROOTS = ("schemas", "core", "producers", "stream_processors", "replay_workers", "control")


def source_files() -> list[Path]:
    """Every Python file that is shipped."""
    return sorted(path for root in SOURCE_ROOTS for path in (ROOT / root).rglob("*.py"))


def package_inits() -> list[Path]:
    """The `__init__.py` of every package."""
    return [path for path in source_files() if path.name == "__init__.py"]


def module_name(path: Path) -> str:
    """The import name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and length in lines of every function of a file, decorators and docstring left out."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            has_docstring = ast.get_docstring(node) is not None
            body = node.body[1:] if has_docstring else node.body
            first = body[0].lineno if body else node.lineno
            yield node.name, (node.end_lineno or first) - first + 2


def public_names() -> dict[str, list[str]]:
    """`__all__` of every package."""
    packages = [module_name(path) for path in package_inits()]
    return {name: list(importlib.import_module(name).__all__) for name in packages}


def names_text() -> str:
    """The public names as they are pinned."""
    return "".join(f"{package}.{name}\n" for package, names in sorted(public_names().items()) for name in names)


if __name__ == "__main__":
    PINNED.write_text(names_text())
