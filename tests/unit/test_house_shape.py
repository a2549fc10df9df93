"""The shape of the code: small files, small functions, packages that only re-export."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from house import ROOT, SOURCE_ROOTS, functions, module_name, package_inits, source_files

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path) -> None:
    """No file grows beyond 500 lines, no function beyond 70: every monolith began as one of them."""
    lines = len(path.read_text().splitlines())
    assert lines <= FILE_LINES_MAX, f"{path.relative_to(ROOT)} has {lines} lines: split it by what its parts are about"
    long = [f"{name}: {length} lines" for name, length in functions(path) if length > FUNCTION_LINES_MAX]
    assert not long, f"{path.relative_to(ROOT)}: {long}"


@pytest.mark.parametrize("path", package_inits(), ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_only_re_export(path: Path) -> None:
    """An `__init__.py` holds a docstring, imports from its own floor and below, and a sorted `__all__`."""
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{path}: say in one sentence what the package is for"
    others = [node for node in tree.body[1:] if not isinstance(node, ast.ImportFrom) and not _assigns(node, "__all__")]
    assert not others, f"{path}: line {others[0].lineno} does more than re-export"
    exported = _all_of(tree)
    assert exported == sorted(exported, key=_export_order), f"{path}: sort __all__"
    imported = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(exported) == imported - {"annotations"}, f"{path}: __all__ and the imports differ"


def test_modules_of_a_package_are_private() -> None:
    """Code lives in `_name.py`: what a package offers is what its `__init__.py` names."""
    public = [module_name(path) for path in source_files() if not path.name.startswith("_")]
    assert public == []


def test_every_portion_is_typed() -> None:
    """Each package that is shipped carries `py.typed`, so that its users' type checkers look inside."""
    for root in SOURCE_ROOTS:
        (package,) = (ROOT / root / "tachograph").glob(root if root != "core" else "core")
        assert (package / "py.typed").is_file(), package
    assert (ROOT / "core/tachograph/stores/py.typed").is_file()


def test_the_namespace_stays_open() -> None:
    """`tachograph` itself is no regular package: one `__init__.py` there would hide every other floor."""
    assert [root for root in SOURCE_ROOTS if (ROOT / root / "tachograph" / "__init__.py").exists()] == []


def _assigns(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _all_of(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and _assigns(node, "__all__") and node.value is not None:
            names: list[str] = ast.literal_eval(node.value)
            return names
    pytest.fail("no __all__")


def _export_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by name: the order that ruff keeps."""
    if name.isupper():
        return 0, name
    return (1, name) if name[0].isupper() else (2, name)
