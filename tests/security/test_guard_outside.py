"""A replay does not touch the outside, and cannot see what it must not: keys, log, environment."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import guarded_fleet
from replays import Replays, asked, diverged, evidence_bytes, line_at, reproduced
from tachograph.core.canonical import display
from tachograph.core.replay import DivergenceKind, Verdict
from tachograph.replay_workers._process import ReplayProcess


@pytest.fixture(scope="module")
def process() -> Iterator[ReplayProcess]:
    """One replaying process for all tests: it forks a child per replay."""
    with ReplayProcess() as started:
        yield started


class CountingServer:
    """Accepts connections on a local port and counts them."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._datagrams = socket.socket(type=socket.SOCK_DGRAM)
        self.port: int = self._socket.getsockname()[1]
        self._datagrams.bind(("127.0.0.1", self.port))
        self._connections = 0
        self._own = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def connections(self) -> int:
        """How many connections came, those that are made and not yet accepted with them: they are accepted in their order."""
        with socket.create_connection(("127.0.0.1", self.port)) as own:
            while own.recv(1):
                pass
        self._own += 1
        return self._connections - self._own

    def datagrams(self) -> int:
        """How many datagrams came."""
        self._datagrams.setblocking(False)
        count = 0
        while True:
            try:
                self._datagrams.recv(1)
            except BlockingIOError:
                return count
            count += 1

    def close(self) -> None:
        """Stop counting."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()
        self._datagrams.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._connections += 1
            connection.close()


@contextmanager
def _server() -> Iterator[CountingServer]:
    with closing(CountingServer()) as server:
        yield server


@pytest.fixture(scope="module")
def note(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that control logic goes for."""
    file = tmp_path_factory.mktemp("written") / "note.json"
    file.write_text("1")
    return file


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, process: ReplayProcess, note: Path) -> Verdict:
    """The verdict on a run that tries every way of changing a file or starting a process."""
    replays = Replays(tmp_path_factory.mktemp("writes"), process)
    return replays.replay(replays.record(guarded_fleet.writes, str(note)))


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory, process: ReplayProcess) -> Iterator[tuple[Verdict, int]]:
    """The verdict on a run that tries every way into the network, and how much came through."""
    replays = Replays(tmp_path_factory.mktemp("connects"), process)
    with _server() as server:
        verdict = replays.replay(replays.record(guarded_fleet.connects, server.port))
        yield verdict, server.connections() + server.datagrams()


def _check_refused(verdict: Verdict, names: list[str], name: str) -> None:
    agent_id = f"agent{names.index(name)}"
    (found,) = (one for one in diverged(verdict).agent_id and verdict.divergences if one.agent_id == agent_id)
    assert found.kind is DivergenceKind.UNRECORDED_INPUT
    assert asked(found.recorded) == "recorded"
    outcome = asked(found.replayed)
    assert isinstance(outcome, str)
    assert "is refused: a replay does not touch the outside" in outcome
    assert found.unrecorded is not None
    assert f'"{name}": ' in line_at(f"{found.unrecorded.file}:{found.unrecorded.line}")


@pytest.mark.parametrize("name", guarded_fleet.WRITES)
def test_writes_and_processes_are_refused_and_named(written: Verdict, name: str) -> None:
    """Control logic gets a PermissionError that says what to do; what follows from it is put down to it."""
    _check_refused(written, list(guarded_fleet.WRITES), name)


def test_refused_writes_leave_no_trace(written: Verdict, note: Path) -> None:
    """No file came, went or changed."""
    assert diverged(written)
    assert [path.name for path in note.parent.iterdir()] == [note.name]
    assert note.read_text() == "1"


@pytest.mark.parametrize("name", guarded_fleet.CONNECTS)
def test_the_network_is_refused_and_named(connected: tuple[Verdict, int], name: str) -> None:
    """Names are not looked up, either."""
    _check_refused(connected[0], list(guarded_fleet.CONNECTS), name)


def test_nothing_comes_through_the_network(connected: tuple[Verdict, int]) -> None:
    """A server that counts stays at zero."""
    assert connected[1] == 0


def test_a_refusal_that_is_swallowed_is_named(tmp_path: Path, process: ReplayProcess) -> None:
    """Control logic that goes on as if nothing were is LIMITED: the recording did something that the replay did not."""
    source = f"""
def desk(run):
    with run.agent("clerk") as agent:
        try:
            open({str(tmp_path / "trace")!r}, "w").close()
        except OSError:
            pass
        agent.call(work, 1)
"""
    replays = Replays(tmp_path, process)
    run_id = replays.record(source)
    (tmp_path / "trace").unlink()
    verdict = replays.replay(run_id)
    assert verdict.status == "limited"
    (read,) = verdict.blocked
    assert (read.source, read.agent_id) == ("file", "clerk")
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("entrypoint", [guarded_fleet.in_tools, guarded_fleet.in_tools_async])
def test_tools_are_never_executed(tmp_path: Path, process: ReplayProcess, entrypoint: object) -> None:
    """Tools that raise when they are executed in a replay, write and connect: the replay reproduces without them."""
    assert callable(entrypoint)
    replays = Replays(tmp_path, process)
    note, trace = tmp_path / "note.json", tmp_path / "note.json.written"
    note.write_text("1")
    with _server() as server:
        run_id = replays.record(entrypoint, str(note), server.port)
        assert (server.connections(), trace.read_text()) == (1, "x\n")
        verdict = reproduced(replays.replay(run_id))
        assert (server.connections(), trace.read_text()) == (1, "x\n")
    assert verdict.blocked == ()
    assert sum(verdict.served.values()) >= 3


def test_a_replaying_process_sees_neither_keys_nor_log(
    tmp_path: Path, process: ReplayProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its environment is its own, nothing is open but the pipe and what its last words go to, and nothing says where the home is."""
    monkeypatch.setenv("OUTSIDE_SECRET", "s3cret-of-the-parent")
    replays = Replays(tmp_path, process)
    with ReplayProcess() as fresh:
        run_id = replays.record(guarded_fleet.looks_around)
        found = diverged(Replays(tmp_path, fresh).replay(run_id))
    assert found.replayed is not None
    seen = asked(found.replayed)
    assert isinstance(seen, dict)
    environ = seen["environ"]
    assert isinstance(environ, dict)
    assert environ.keys() <= {
        "LANG",
        "LC_CTYPE",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONUTF8",
        "TZ",
    }
    descriptors = seen["fds"]
    assert isinstance(descriptors, dict)
    assert {str(target).partition(":")[0] for target in descriptors.values()} == {"/dev/null", "/memfd", "pipe"}
    assert seen["argv"] == ["replay"]
    text = str(display(found.replayed.arguments))
    key = next((tmp_path / "home" / "keys").iterdir()).read_bytes()
    for secret in (str(tmp_path / "home"), "s3cret-of-the-parent", key.hex(), repr(key)[2:-1]):
        assert secret not in text


def test_a_replay_writes_nothing(tmp_path: Path, process: ReplayProcess) -> None:
    """Log, objects and keys are the same bytes before and after, whatever the verdict."""
    replays = Replays(tmp_path, process)
    source = 'def desk(run):\n    with run.agent("a") as agent:\n        agent.call(work, "x" * 100_000)\n'
    run_id = replays.record(source)
    before = evidence_bytes(tmp_path / "home")
    assert any(path.startswith("objects") for path in before)
    reproduced(replays.replay(run_id))
    diverged(replays.replay(run_id, source.replace('"x"', '"y"')))
    assert evidence_bytes(tmp_path / "home") == before
