"""Entry points and input snapshots: what a replay needs to find the same code again."""

from __future__ import annotations

import functools
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.producers._code import code_commit, code_digest, lock_digest
from tachograph.producers._entrypoint import entrypoint_named, entrypoint_of
from tachograph.producers._snapshot import snapshot


class Desk:
    """Somewhere to put a function."""

    @staticmethod
    def serve() -> None:
        """Serve."""

    def bound(self) -> None:
        """Serve as an object."""


def test_a_function_at_the_top_of_a_module_is_an_entry_point() -> None:
    """Its text names module and function, its code path is where the module is imported from."""
    import json.decoder

    found = entrypoint_of(json.decoder.JSONDecoder.decode)
    assert found is not None
    assert found.text == "json.decoder:JSONDecoder.decode"
    root = Path(json.__file__).resolve().parent.parent
    assert (found.code_path, found.source) == (root, root / "json")
    nested = entrypoint_of(Desk.serve)
    assert nested is not None
    assert nested.text == f"{__name__}:Desk.serve"


def test_what_cannot_be_imported_is_no_entry_point(caplog: pytest.LogCaptureFixture) -> None:
    """Lambdas, closures, partials, bound methods and hidden functions are told so in a warning."""

    def closure() -> None:
        pass

    for function in (lambda: None, closure, functools.partial(print), Desk().bound):
        assert entrypoint_of(function) is None
    assert len(caplog.records) == 4


def test_an_entry_point_given_by_name_is_taken_as_it_is() -> None:
    """Where its code lies is known only if its module is imported."""
    assert entrypoint_named("json.decoder:x").source is not None
    assert entrypoint_named("not.there:x").code_path is None


@pytest.mark.parametrize("started", ["file", "module", "package"])
def test_the_main_module_has_the_name_under_which_others_import_it(tmp_path: Path, started: str) -> None:
    """A script is named after its file, a module started with -m after itself, wherever Python was started."""
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    program = (
        "from tachograph.producers._entrypoint import entrypoint_of\n"
        "def main(): pass\n"
        "found = entrypoint_of(main)\n"
        "print(found.text, found.code_path)\n"
    )
    (tmp_path / "script.py").write_text(program)
    (package / "inner.py").write_text(program)
    (package / "__main__.py").write_text(program)
    command = {"file": ["script.py"], "module": ["-m", "pack.inner"], "package": ["-m", "pack"]}[started]
    text = {"file": "script:main", "module": "pack.inner:main", "package": "pack.__main__:main"}[started]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [text, str(tmp_path)]


@pytest.mark.parametrize("started", ["file", "module"])
def test_a_script_has_the_same_names_in_a_process_that_it_spawns(tmp_path: Path, started: str) -> None:
    """Entry point, classes and exceptions: multiprocessing calls the script `__mp_main__` there."""
    (tmp_path / "pack").mkdir()
    program = (
        "import multiprocessing\n"
        "from tachograph.core.canonical import encode_body\n"
        "from tachograph.producers._entrypoint import entrypoint_of\n"
        "from tachograph.producers._failure import error_draft\n"
        "import enum\n"
        "class Mood(enum.Enum):\n    CALM = 1\n"
        "class Odd(Exception): pass\n"
        "def names():\n"
        "    return entrypoint_of(names).text, encode_body(Mood.CALM), error_draft(Odd()).type\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        here, there = names(), pool.apply(names)\n"
        "        assert here == there, (here, there)\n"
        "        print(here[0])\n"
    )
    (tmp_path / "script.py").write_text(program)
    (tmp_path / "pack" / "inner.py").write_text(program)
    command = {"file": ["script.py"], "module": ["-m", "pack.inner"]}[started]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == {"file": "script:names", "module": "pack.inner:names"}[started]


def test_code_has_a_digest_that_any_change_changes(tmp_path: Path) -> None:
    """A module's own file, or every file of its package, with their names; other files do not count."""
    single = tmp_path / "single.py"
    single.write_text("x = 1\n")
    assert code_digest(single) == hashlib.sha256(b"single.py\x006\0x = 1\n").hexdigest()
    digests = set()
    for change in (("a.py", "1"), ("a.py", "2"), ("sub/b.py", "2"), ("notes.txt", "not code")):
        path = tmp_path / "pack" / change[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(change[1])
        code_digest.cache_clear()
        digests.add(code_digest(tmp_path / "pack"))
    assert len(digests) == 3
    assert code_digest(tmp_path / "nowhere") == hashlib.sha256().hexdigest()


def test_the_commit_is_read_without_starting_git(tmp_path: Path) -> None:
    """A branch, a packed branch, a detached head and a work tree each give the commit; no repository gives none."""
    commits = [f"{number:040x}" for number in range(4)]
    git = tmp_path / "repo" / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    source = tmp_path / "repo" / "pack"
    source.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text(commits[0] + "\n")
    (git / "packed-refs").write_text(f"# pack-refs\n{commits[1]} refs/heads/packed\n")
    found = [_commit(source)]
    (git / "HEAD").write_text("ref: refs/heads/packed\n")
    found.append(_commit(source))
    (git / "HEAD").write_text(commits[2] + "\n")
    found.append(_commit(source))
    tree = tmp_path / "tree"
    (git / "worktrees" / "tree").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {git / 'worktrees' / 'tree'}\n")
    (git / "worktrees" / "tree" / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "worktrees" / "tree" / "commondir").write_text("../..\n")
    found.append(_commit(tree))
    assert found == [*commits[:3], commits[0]]
    assert _commit(tmp_path / "elsewhere") is None


def _commit(source: Path) -> str | None:
    code_commit.cache_clear()
    return code_commit(source)


def test_the_snapshot_holds_what_is_known_and_what_was_told(tmp_path: Path) -> None:
    """Python, system, code and locked dependencies are found; what the caller states stands above them."""
    (tmp_path / "uv.lock").write_text("locked")
    assert lock_digest(tmp_path) == hashlib.sha256(b"locked").hexdigest()
    versions = snapshot(entrypoint_of(Desk.serve), {"policy": "p/3", "python": "told"})
    assert versions["policy"] == "p/3"
    assert versions["python"] == "told"
    assert {"os", "code_path", "code_digest"} <= set(versions)
    assert set(snapshot(None, None)) == {"python", "os"}
