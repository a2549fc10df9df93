"""What is shipped: the wheel holds every package, every schema and the licence, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from house import ROOT, SOURCE_ROOTS


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree."""
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_is_complete(wheel: Path) -> None:
    """Every source file, schema, template and `py.typed` of the tree is in the wheel under its import path."""
    expected = {
        str(path.relative_to(ROOT / root))
        for root in SOURCE_ROOTS
        for path in (ROOT / root / "tachograph").rglob("*")
        if path.is_file() and not {"__pycache__", ".mypy_cache"} & set(path.parts)
    }
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert found == expected


def test_the_wheel_carries_licence_and_entry_points(wheel: Path) -> None:
    """The licence, the command and the services travel with the code."""
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
    text = archive.read(entry_points).decode()
    assert "tacho = tachograph.control:main" in text
    assert "[tachograph.services]" in text


def test_the_wheel_runs_without_the_tree(wheel: Path, tmp_path: Path) -> None:
    """Unpacked elsewhere, `tacho --help` works from the wheel's own files."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import tachograph.control as c; "
        "assert c.__file__.startswith(sys.path[0]), c.__file__; sys.exit(c.main(['--help']))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", _with_site_packages(program), str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "replay" in done.stdout


def _with_site_packages(program: str) -> str:
    """Dependencies come from where they are; the tree's own editable path does not (`-S` reads no .pth file)."""
    import sysconfig

    return f"import sys; sys.path.append({sysconfig.get_paths()['purelib']!r}); {program}"
