"""Control logic that reads past the boundary, one way per line: tests look for the name of the way in the line blamed."""

# Every line here is a sin.
# ruff: noqa: DTZ001, DTZ002, DTZ003, DTZ005, DTZ011, PLW0108, SIM115
# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH107, PTH109, PTH110, PTH115, PTH116, PTH120, PTH123, PTH202, PTH207
# ruff: noqa: PTH208, PTH211
from __future__ import annotations

import calendar
import datetime as dt
import glob
import http.client
import json
import os
import os.path
import pathlib
import random
import secrets
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from datetime import date, datetime
from os import environ, getenv, urandom
from random import choice, randint
from time import monotonic as steady
from time import time as wall_clock
from typing import TextIO
from uuid import uuid4

from tachograph.core.boundary import Run

Read = Callable[[str], object]

READS: dict[str, Read] = {
    "time.time": lambda path: time.time(),
    "time.time_ns": lambda path: time.time_ns(),
    "time.monotonic": lambda path: time.monotonic(),
    "time.monotonic_ns": lambda path: time.monotonic_ns(),
    "time.perf_counter": lambda path: time.perf_counter(),
    "time.process_time": lambda path: time.process_time(),
    "time.clock_gettime": lambda path: time.clock_gettime(time.CLOCK_REALTIME),
    "time.clock_gettime_ns": lambda path: time.clock_gettime_ns(time.CLOCK_MONOTONIC),
    "time.localtime": lambda path: time.mktime(time.localtime()),
    "time.gmtime": lambda path: calendar.timegm(time.gmtime()),
    "time.ctime": lambda path: time.ctime(),
    "time.strftime": lambda path: time.strftime("%Y-%m-%d %H:%M:%S"),
    "time.asctime": lambda path: time.asctime(),
    "from time import time": lambda path: wall_clock(),
    "from time import monotonic": lambda path: steady(),
    "datetime.now": lambda path: datetime.now().isoformat(),
    "datetime.now(tz)": lambda path: datetime.now(dt.UTC).isoformat(),
    "datetime.utcnow": lambda path: dt.datetime.utcnow().isoformat(),
    "datetime.today": lambda path: datetime.today().isoformat(),
    "date.today": lambda path: date.today().isoformat(),
    "datetime.date.today": lambda path: dt.date.today().isoformat(),
    "random.random": lambda path: random.random(),
    "random.randint": lambda path: random.randint(1, 10**9),
    "random.choice": lambda path: random.choice(range(10**9)),
    "random.shuffle": lambda path: random.shuffle([1, 2, 3]),
    "random.sample": lambda path: random.sample(range(10**9), 3),
    "from random import randint": lambda path: randint(1, 10**9),
    "from random import choice": lambda path: choice(range(10**9)),
    "random.Random()": lambda path: random.Random().random(),
    "random.SystemRandom": lambda path: random.SystemRandom().random(),
    "random.seed()": lambda path: (random.seed(), random.random())[1],
    "random.getstate": lambda path: hash(random.getstate()),
    "os.urandom": lambda path: os.urandom(8),
    "from os import urandom": lambda path: urandom(8),
    "os.getrandom": lambda path: os.getrandom(8),
    "secrets.token_hex": lambda path: secrets.token_hex(8),
    "secrets.token_urlsafe": lambda path: secrets.token_urlsafe(8),
    "secrets.randbelow": lambda path: secrets.randbelow(10**9),
    "secrets.choice": lambda path: secrets.choice(range(10**9)),
    "uuid.uuid1": lambda path: str(uuid.uuid1()),
    "uuid.uuid4": lambda path: str(uuid.uuid4()),
    "from uuid import uuid4": lambda path: str(uuid4()),
    "open": lambda path: _text(open(path)),
    "os.open": lambda path: os.read(os.open(path, os.O_RDONLY), 99),
    "pathlib.Path.read_text": lambda path: pathlib.Path(path).read_text(),
    "pathlib.Path.read_bytes": lambda path: pathlib.Path(path).read_bytes(),
    "json.load": lambda path: json.loads(_text(open(path))),
    "os.listdir": lambda path: os.listdir(os.path.dirname(path)),
    "os.scandir": lambda path: [entry.name for entry in os.scandir(os.path.dirname(path))],
    "glob.glob": lambda path: glob.glob(os.path.dirname(path) + "/*"),
    "os.stat": lambda path: os.stat(path).st_mtime_ns,
    "os.path.exists": lambda path: os.path.exists(path),
    "os.path.getsize": lambda path: os.path.getsize(path),
    "pathlib.Path.exists": lambda path: pathlib.Path(path).exists(),
    "pathlib.Path.iterdir": lambda path: [str(one) for one in pathlib.Path(path).parent.iterdir()],
    "os.environ[]": lambda path: os.environ["PATH"],
    "os.environ.get": lambda path: os.environ.get("PATH"),
    "os.getenv": lambda path: os.getenv("PATH"),
    "from os import environ": lambda path: environ["PATH"],
    "from os import getenv": lambda path: getenv("PATH"),
    "in os.environ": lambda path: "PATH" in os.environ,
    "dict(os.environ)": lambda path: sorted(dict(os.environ)),
    "list(os.environ)": lambda path: sorted(os.environ),
    "os.environb": lambda path: os.environb.get(b"PATH"),
    "os.getpid": lambda path: os.getpid(),
    "os.cpu_count": lambda path: os.cpu_count(),
    "socket.gethostname": lambda path: socket.gethostname(),
    "os.getcwd": lambda path: os.getcwd(),
}
"""Reads that have an answer in a replay, if another one."""

WRITES: dict[str, Read] = {
    "open for writing": lambda path: open(path, "w").write("x"),
    "open for appending": lambda path: open(path, "ab").write(b"x"),
    "Path.write_text": lambda path: pathlib.Path(path).write_text("x"),
    "os.open for writing": lambda path: os.open(path, os.O_WRONLY | os.O_CREAT),
    "os.remove": lambda path: os.remove(path),
    "os.rename": lambda path: os.rename(path, path + "2"),
    "os.mkdir": lambda path: os.mkdir(path + ".d"),
    "os.makedirs": lambda path: os.makedirs(path + ".d/e"),
    "shutil.rmtree": lambda path: shutil.rmtree(os.path.dirname(path)),
    "shutil.copy": lambda path: shutil.copy(path, path + "3"),
    "os.chmod": lambda path: os.chmod(path, 0o700),
    "os.truncate": lambda path: os.truncate(path, 0),
    "os.symlink": lambda path: os.symlink(path, path + "4"),
    "os.utime": lambda path: os.utime(path, (0, 0)),
    "tempfile.NamedTemporaryFile": lambda path: tempfile.NamedTemporaryFile(dir=os.path.dirname(path)).name,
    "tempfile.mkdtemp": lambda path: tempfile.mkdtemp(dir=os.path.dirname(path)),
    "sqlite3.connect": lambda path: sqlite3.connect(path + "6").execute("create table t (x)").fetchall(),
    "subprocess.run": lambda path: subprocess.run(["/bin/sh", "-c", f"echo x > {path}"], check=False).returncode,
    "os.system": lambda path: os.system(f"echo x > {path}"),
    "os.popen": lambda path: os.popen(f"echo x > {path}").read(),
    "os.posix_spawn": lambda path: os.posix_spawn("/bin/sh", ["sh", "-c", f"echo x > {path}"], {}),
    "os.fork": lambda path: os.fork() or os._exit(0),
    "os.kill": lambda path: os.kill(os.getppid(), 0),
    "os.execv": lambda path: os.execv("/bin/sh", ["sh", "-c", f"echo x > {path}"]),
}
"""What would change the outside: refused in a replay."""

CONNECTS: dict[str, Callable[[int], object]] = {
    "socket.connect": lambda port: socket.socket().connect(("127.0.0.1", port)),
    "socket.connect_ex": lambda port: socket.socket().connect_ex(("127.0.0.1", port)),
    "socket.create_connection": lambda port: socket.create_connection(("127.0.0.1", port)).close(),
    "socket.getaddrinfo": lambda port: str(socket.getaddrinfo("localhost", port)),
    "socket.gethostbyname": lambda port: socket.gethostbyname("localhost"),
    "http.client": lambda port: http.client.HTTPConnection("127.0.0.1", port).request("GET", "/"),
    "urllib.request": lambda port: urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read(),
    "socket.sendto": lambda port: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port)),
    "socket.bind": lambda port: socket.socket().bind(("127.0.0.1", 0)),
}
"""The network: refused in a replay."""


def silent(run: Run, path: str) -> None:
    """Read past the boundary in every way and make nothing of it."""
    with run.agent("clerk") as agent:
        for name, read in READS.items():
            agent.call(str, name)
            read(path)


def visible(run: Run, path: str) -> None:
    """One agent per way: reads past the boundary, where it is replayed, and asks a tool about what was read."""
    for index, read in enumerate(READS.values()):
        with run.agent(f"agent{index}") as agent:
            agent.call(_one, 1)
            agent.call(_one, "nothing" if _recording() else repr(read(path)))
            agent.call(_one, 2)


def writes(run: Run, path: str) -> None:
    """One agent per way: does something to the outside, where it is replayed, and says what came of it."""
    for index, write in enumerate(WRITES.values()):
        _tried(run, index, lambda write=write: write(path))


def connects(run: Run, port: int) -> None:
    """The same for the network."""
    for index, connect in enumerate(CONNECTS.values()):
        _tried(run, index, lambda connect=connect: connect(port))


def _tried(run: Run, index: int, act: Callable[[], object]) -> None:
    with run.agent(f"agent{index}") as agent:
        outcome = "recorded"
        if not _recording():
            try:
                outcome = f"done: {act()!r}"
            except PermissionError as error:
                outcome = f"refused: {error}"
            except Exception as error:
                outcome = f"{type(error).__name__}: {error}"
        agent.call(_one, outcome)


def in_tools(run: Run, path: str, port: int) -> None:
    """Everything in tools, where it belongs."""
    with run.agent("clerk") as agent:
        for name in READS:
            agent.call(reading, name, path)
        agent.call(writing, path)
        agent.call(connecting, port)
        agent.call(bursting)


async def in_tools_async(run: Run, path: str, port: int) -> None:
    """The same on an event loop."""
    async with run.agent("clerk") as agent:
        await agent.call(writing, path)
        await agent.call(connecting, port)
        await agent.call(bursting)


def reading(name: str, path: str) -> str:
    """A tool that reads."""
    return repr(READS[name](path))


def writing(path: str) -> None:
    """A tool that writes: a line for each time it is executed."""
    _executed()
    with open(path + ".written", "a") as file:
        file.write("x\n")


def connecting(port: int) -> None:
    """A tool that connects."""
    _executed()
    socket.create_connection(("127.0.0.1", port)).close()


def bursting() -> str:
    """A tool that must not be executed in a replay."""
    _executed()
    return "recorded"


def again_and_again(run: Run) -> None:
    """Read at the same line many times."""
    with run.agent("clerk") as agent:
        for _ in range(100):
            READS["time.time"]("")
        agent.call(str, 1)


def plain(run: Run, numbers: list[int]) -> None:
    """What belongs to nobody outside: seeded generators, constructed times, code, logging."""
    import logging
    import textwrap  # noqa: F401 reading code is no input

    with run.agent("clerk") as agent:
        dice = random.Random(7)
        agent.call(_one, [dice.random(), dice.randint(1, 9), random.Random("seed").random()])
        random.seed(11)
        agent.call(_one, [random.random(), random.choice(numbers)])
        agent.call(_one, [datetime(2024, 5, 1, 12).isoformat(), date(2024, 5, 1).isoformat()])
        agent.call(_one, [datetime.fromisoformat("2024-05-01T12:00:00").isoformat(), time.gmtime(0).tm_year])
        agent.call(_one, [isinstance(agent.now(), datetime), issubclass(datetime, date)])
        agent.call(_one, str(uuid.uuid5(uuid.NAMESPACE_URL, "x")))
        logging.getLogger("guarded").warning("with a time stamp of its own: %s", numbers)
        try:
            raise ValueError("with a traceback")
        except ValueError:
            logging.getLogger("guarded").exception("read from source")


async def plain_async(run: Run, numbers: list[int]) -> None:
    """Asyncio reads the clock for its own ends."""
    import asyncio

    async with run.agent("clerk") as agent:
        await asyncio.sleep(0.001)
        await asyncio.wait_for(agent.call(_one, 1), 5)
        async with asyncio.timeout(5):
            await asyncio.gather(*(agent.call(_one, number) for number in numbers))


def looks_around(run: Run) -> None:
    """Tell a tool what a replaying process can reach."""
    with run.agent("clerk") as agent:
        agent.call(_one, "nothing" if _recording() else _surroundings())


def _surroundings() -> dict[str, object]:
    descriptors = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            descriptors[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
    return {
        "environ": dict(os.environ),
        "fds": descriptors,
        "argv": list(sys.argv),
        "cmdline": open("/proc/self/cmdline").read().split("\0"),
        "environment": open("/proc/self/environ").read().split("\0"),
        "frames": list(_frames()),
        "cwd": os.getcwd(),
    }


def _frames() -> Iterator[str]:
    """What hangs on the frames below control logic."""
    frame = sys._getframe()
    while frame is not None:
        yield from (repr(value)[:2000] for value in frame.f_locals.values())
        frame = frame.f_back  # type: ignore[assignment]


def _text(file: TextIO) -> str:
    with file:
        return file.read()


def _one(value: object) -> object:
    return value


def _recording() -> bool:
    return "tachograph.producers" in sys.modules


def _executed() -> None:
    if not _recording():
        raise AssertionError("a tool was executed in a replay")
