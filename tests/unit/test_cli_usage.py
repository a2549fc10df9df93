"""The command line's manners: help, mistakes, exit codes, one message instead of a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli import tacho
from tachograph.control import _main, _runs
from tachograph.control._exit import ExitCode
from tachograph.stores import Home

COMMANDS = (
    "demo", "import", "runs", "show", "timeline", "replay", "fork", "diff", "effects", "reconcile",
    "verify", "export", "rebuild", "doctor",
)  # fmt: skip


def test_help_names_every_command_and_exit_code() -> None:
    """`tacho --help` is the map: each command with a sentence, and what the exit codes mean."""
    done = tacho("--help")
    assert done.code == ExitCode.OK
    assert all(f"\n    {command}" in done.out for command in COMMANDS)
    assert "64 usage" in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    """Each command has help of its own, common options included, and a section in docs/cli.md."""
    done = tacho(command, "--help")
    assert done.code == ExitCode.OK
    assert "--json" in done.out
    document = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert f"### `tacho {command}" in document


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("runs", "--nonsense"),
        ("show",),
        ("replay",),
        ("replay", "x", "--all"),
        ("replay", "x", "--jobs", "0"),
        ("replay", "x", "--jobs", "many"),
        ("replay", "x", "--steps-max", "0"),
        ("replay", "x", "--code", "/no/such/directory"),
        ("fork", "x", "--result", "no-equals-sign"),
        ("fork", "x", "--from", "not an event"),
        ("fork", "x", "--replace", "=b"),
        ("reconcile", "x", "--as", "perhaps", "--reason", "y"),
        ("import", "nowhere", "f"),
        ("runs", "--limit", "0"),
        ("export", "x"),
        ("runs", "--home", ""),
    ],
    ids=" ".join,
)
def test_mistakes_end_in_64_with_one_message(arguments: tuple[str, ...]) -> None:
    """A command line that cannot be understood: exit code 64, one message on standard error, no traceback."""
    done = tacho("--home", "/no/such/home", *arguments)
    assert done.code == ExitCode.USAGE
    assert done.out == ""
    assert done.err.startswith("tacho: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


def test_a_missing_home_is_said_with_its_remedy(tmp_path: Path) -> None:
    """No home there: the message names the directory and what to do."""
    done = tacho("--home", tmp_path / "nothing", "runs")
    assert done.code == ExitCode.USAGE
    assert str(tmp_path / "nothing") in done.err
    assert "--home" in done.err
    assert not (tmp_path / "nothing").exists()


def test_common_options_work_on_both_sides(tmp_path: Path) -> None:
    """`tacho --json runs` and `tacho runs --json` are the same; the later one of two homes wins."""
    before = tacho("--json", "--home", tmp_path / "x", "runs")
    after = tacho("runs", "--json", "--home", tmp_path / "x")
    both = tacho("--home", tmp_path / "y", "runs", "--json", "--home", tmp_path / "x")
    assert before == after == both


def test_errors_have_a_json_shape(tmp_path: Path) -> None:
    """With `--json` an error is a document, too: type, message and exit code; the message stays on standard error."""
    done = tacho("runs", "--json", "--home", tmp_path / "x")
    assert done.document["exit_code"] == done.code == ExitCode.USAGE
    assert done.document["command"] == "runs"
    assert done.document["error"]["message"] in done.err
    usage = tacho("runs", "--json", "--nonsense")
    assert usage.document["error"]["type"] == "UsageError"


def test_payload_in_a_message_is_escaped() -> None:
    """A message that quotes what somebody typed cannot steer the terminal."""
    done = tacho("runs", "extra\x1b[2J")
    assert "\x1b" not in done.err
    assert "\\x1b[2J" in done.err


def fail(*_: object) -> None:
    """A bug."""
    raise RuntimeError("boom \x1b[2J")


def test_a_bug_is_one_message_and_70(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception: exit code 70, a sentence, and how to see more."""
    monkeypatch.setattr(_runs, "_runs", fail)
    done = tacho("runs")
    assert done.code == ExitCode.INTERNAL
    assert done.err == "tacho: unexpected RuntimeError: boom \\x1b[2J. See more with `--debug`.\n"


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--debug` shows where a bug is, escaped like everything."""
    monkeypatch.setattr(_runs, "_runs", fail)
    done = tacho("runs", "--debug")
    assert "Traceback" in done.err
    assert "in fail" in done.err
    assert "\x1b" not in done.err


def interrupt(*_: object) -> None:
    """Ctrl-C."""
    raise KeyboardInterrupt


def test_ctrl_c_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C: exit code 130 and one word."""
    monkeypatch.setattr(_runs, "_runs", interrupt)
    done = tacho("runs")
    assert done.code == ExitCode.INTERRUPTED
    assert done.err == "tacho: interrupted\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`tacho … | head -1` ends without a traceback."""
    program = f"{sys.executable} -m tachograph.control --help | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode in (ExitCode.OK, ExitCode.PIPE_CLOSED)
    assert done.stderr == ""


def test_json_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON output is ASCII: bidirectional and control characters are escapes."""
    _main._write_json({"x": "\x1b[2J\u202e\x9b"})
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert shown.isascii()
    assert json.loads(shown) == {"x": "\x1b[2J\u202e\x9b"}


def test_help_stays_fast() -> None:
    """Looking at help loads neither the stores' database nor a schema compiler nor progress bars."""
    program = "import sys; from tachograph.control import main; main(['--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for heavy in ("rich", "fastavro", "confluent_kafka", "jinja2"):
        assert f"'{heavy}'" not in done.stdout


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of shell in which TACHO stands for the command."""
    command = f"{sys.executable} -m tachograph.control"
    return subprocess.run(
        ["bash", "-c", line.replace("TACHO", command)], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home without runs."""
    return Home.open(tmp_path_factory.mktemp("usage") / "home", create=True).path


@pytest.mark.parametrize("arguments", ["runs", "runs --json", "--help", "show nothing --json"])
def test_output_onto_a_full_disk_is_one_message_and_70(home: Path, arguments: str) -> None:
    """What cannot be written is said once, with the reason; not even the interpreter's end adds to it."""
    done = in_shell(f"TACHO --home {home} {arguments} > /dev/full")
    assert done.returncode == ExitCode.INTERNAL
    *before, last = done.stderr.splitlines()
    assert last == (
        "tacho: cannot write to standard output: No space left on device. Free space, or send the output elsewhere."
    )
    assert all(line.startswith("tacho: no run 'nothing'") for line in before)


@pytest.mark.parametrize("arguments", ["runs", "runs --json", "--help"])
def test_a_closed_output_is_one_message_and_70(home: Path, arguments: str) -> None:
    """`tacho … >&-`: nothing is done, and what to do is said."""
    done = in_shell(f"TACHO --home {home} {arguments} >&-")
    assert (done.returncode, done.stderr.count("\n")) == (ExitCode.INTERNAL, 1)
    assert done.stderr.startswith("tacho: standard output is closed.")


def test_a_closed_error_output_keeps_answer_and_exit_code(home: Path) -> None:
    """`tacho … 2>&-`: a message has nowhere to go and does not get into the answer."""
    assert in_shell(f"TACHO --home {home} runs 2>&-").returncode == ExitCode.OK
    done = in_shell(f"TACHO --home {home} show nothing 2>&-")
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")


def test_ctrl_c_ends_quietly_while_modules_load() -> None:
    """Ctrl-C in the first second, before a command runs: exit code 130 and one word."""
    program = """
import builtins, sys
from tachograph.control import main
real = builtins.__import__
def interrupted(name, *more):
    if name == "tachograph.control._homes":
        raise KeyboardInterrupt
    return real(name, *more)
builtins.__import__ = interrupted
sys.exit(main(["runs"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.INTERRUPTED, "tacho: interrupted\n")


def test_ctrl_c_waits_until_modules_are_loaded() -> None:
    """Modules written in C crash the interpreter where a signal comes while they are being loaded."""
    program = """
import builtins, signal, sys
from tachograph.control import main
real = builtins.__import__
def interrupted(name, *more):
    if name == "tachograph.control._homes":
        signal.raise_signal(signal.SIGINT)
    return real(name, *more)
builtins.__import__ = interrupted
code = main(["runs"])
print("tachograph.control._main" in sys.modules, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
sys.exit(code)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.INTERRUPTED, "tacho: interrupted\n")
    assert done.stdout == "True True\n"


def test_little_is_loaded_before_ctrl_c_is_heeded() -> None:
    """The entry point's module loads none of ours but itself."""
    program = "import sys, tachograph.control; print(sorted(n for n in sys.modules if n.startswith('tachograph.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['tachograph.control', 'tachograph.control._start']\n"


def test_an_option_that_takes_one_value_is_not_given_two(tmp_path: Path) -> None:
    """The last one would win without a word about the other; those that may be given again, may."""
    done = tacho("replay", "latest", "--code", str(tmp_path), "--code", str(tmp_path))
    assert done.code == ExitCode.USAGE
    assert "--code is given twice" in done.err
    again = tacho("--home", tmp_path / "none", "timeline", "latest", "--agent", "a", "--agent", "b")
    assert "twice" not in again.err
    before_and_after = tacho("--home", tmp_path / "none", "runs", "--home", tmp_path / "other")
    assert "twice" not in before_and_after.err


@pytest.mark.parametrize("seconds", ["-1", "0", "nan"])
def test_a_shipment_is_given_some_time(tmp_path: Path, seconds: str) -> None:
    """A limit that is over before it begins is a mistake, not a shipment that gave up."""
    done = tacho("--home", tmp_path, "ship", f"--seconds-max={seconds}")
    assert done.code == ExitCode.USAGE
    assert "--seconds-max" in done.err
    assert "it must be above 0" in done.err
