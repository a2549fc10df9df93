"""What the documents say can be typed: commands parse, Python compiles, imported names are there."""

from __future__ import annotations

import ast
import importlib
import re
import shlex

import pytest

from house import ROOT
from tachograph.control._commands import register_all
from tachograph.control._parser import new_parser

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[tuple[str, str]]:
    """Document name and text of each code block in a language."""
    return [
        (path.name, text) for path in DOCUMENTS for found, text in BLOCK.findall(path.read_text()) if found == language
    ]


def commands() -> list[str]:
    """Every `tacho` command line in a plain code block, comments cut off."""
    lines = [line for _, text in blocks("") for line in text.splitlines() if line.startswith("tacho ")]
    return [line.partition("  #")[0].strip() for line in lines if "COMMAND" not in line]


@pytest.mark.parametrize("line", commands())
def test_commands_in_documents_parse(line: str) -> None:
    """No document shows a command, an option or an argument that `tacho` does not know."""
    parser, groups = new_parser("0")
    register_all(groups)
    parser.parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize(("name", "text"), blocks("python"))
def test_python_in_documents_is_python(name: str, text: str) -> None:
    """Each example compiles, and what it imports from here is there."""
    tree = compile(text, name, "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("tachograph"):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, alias.name) for alias in node.names)


def test_documents_name_no_machine() -> None:
    """No document names a path or host of the machine that it was written on."""
    for path in [*DOCUMENTS, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]:
        assert not re.search(r"/work/|/root/|/home/\w|localhost:\d", path.read_text()), path.name


def test_the_command_reference_has_every_option() -> None:
    """Each option of each command is in docs/cli.md."""
    _, groups = new_parser("0")
    register_all(groups)
    text = (ROOT / "docs" / "cli.md").read_text()
    for name, command in groups.choices.items():
        options = set(re.findall(r"--[a-z-]+", command.format_help())) - {"--help"}
        assert options <= set(re.findall(r"--[a-z-]+", text)), name


def test_the_makefile_verbs_are_documented() -> None:
    """`make help` has a sentence for every verb, and the documents name no verb that is not there."""
    makefile = (ROOT / "Makefile").read_text()
    verbs = set(re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE))
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())  # type: ignore[index]
    assert verbs == phony
    named = {
        verb for path in DOCUMENTS for verb in re.findall(r"(?:`|^)make ([a-z-]+)", path.read_text(), re.MULTILINE)
    }
    assert named - verbs == set()


def signature_classes() -> dict[str, set[str]]:
    """Each signature that a rule can find, with the classes that it gives it."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "core" / "tachograph" / "core" / "state").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "SignatureHit":
                classes = set(re.findall(r"FailureClass\.([A-Z_]+)", ast.unparse(node.args[1])))
                found.setdefault(ast.literal_eval(node.args[0]), set()).update(classes)
    return found


def test_every_signature_is_explained() -> None:
    """docs/signatures.md has a row and a section for each signature, with its class and what to do, and for no other."""
    text = (ROOT / "docs" / "signatures.md").read_text()
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (.*?) \|", text, re.MULTILINE))
    classes = {name: set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)*\b", row)) - {"INFO"} for name, row in rows.items()}
    assert classes == signature_classes()
    sections = dict(re.findall(r"^## `([A-Z_]+)`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert sections.keys() == rows.keys()
    assert all("\n*Do*: " in section for section in sections.values())
