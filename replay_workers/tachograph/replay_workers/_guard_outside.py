"""Network, files, processes and the environment: reads are noticed, anything that would change the outside is refused."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO, cast

from tachograph.replay_workers._frames import is_installed
from tachograph.replay_workers._guard_time import Patch
from tachograph.replay_workers._watch import REMEDIES, Source, Watch

_REFUSED: dict[str, Source] = {
    "socket.bind": "network",
    "socket.connect": "network",
    "socket.getaddrinfo": "network",
    "socket.gethostbyaddr": "network",
    "socket.gethostbyname": "network",
    "socket.sendmsg": "network",
    "socket.sendto": "network",
    "subprocess.Popen": "process",
    "os.exec": "process",
    "os.fork": "process",
    "os.forkpty": "process",
    "os.kill": "process",
    "os.killpg": "process",
    "os.posix_spawn": "process",
    "os.spawn": "process",
    "os.system": "process",
    "pty.spawn": "process",
    "dbm.open": "file",
    "os.chmod": "file",
    "os.chown": "file",
    "os.link": "file",
    "os.mkdir": "file",
    "os.remove": "file",
    "os.removexattr": "file",
    "os.rename": "file",
    "os.rmdir": "file",
    "os.setxattr": "file",
    "os.symlink": "file",
    "os.truncate": "file",
    "os.utime": "file",
    "sqlite3.connect": "file",
}
_READ: dict[str, Source] = {
    "os.listdir": "file",
    "os.scandir": "file",
    "os.walk": "file",
    "socket.gethostname": "process",
}
_PLAIN: dict[str, Source] = {
    "access": "file",
    "cpu_count": "process",
    "getcwd": "process",
    "getlogin": "process",
    "getpid": "process",
    "getppid": "process",
    "stat": "file",
}
"""Functions of `os` that no audit event tells of. Not `lstat`: resolving the path of one's own code is no input."""

_PROCESS_ID = 1
"""What every replaying process is told its number is."""
_CODE = (".py", ".pyc", ".pyd", ".so", ".pth", ".egg-link", ".dist-info")
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Refused(PermissionError):
    """Control logic reached for the outside in a replay."""

    def __init__(self, what: str, source: Source) -> None:
        self.what = what
        super().__init__(f"{what} is refused: a replay does not touch the outside; {REMEDIES[source]}")


_watch: Watch | None = None
_hooked = False


def guard_outside(watch: Watch | None) -> None:
    """Watch the process from now on; None: no longer. The interpreter's hook itself stays for the process's life."""
    global _hooked, _watch  # noqa: PLW0603 an audit hook is one per process and cannot be taken back
    _watch = watch
    if not _hooked and watch is not None:
        _hooked = True
        sys.addaudithook(_audited)


def outside_patches(watch: Watch) -> list[Patch]:
    """What replaces the environment and what logging writes to."""
    plain = [(os, name, _noticing(watch, name, source)) for name, source in _PLAIN.items() if hasattr(os, name)]
    environments = [(os, name, _environment(watch, name)) for name in ("environ", "environb") if hasattr(os, name)]
    return [*plain, *environments, (logging.FileHandler, "_open", _nowhere)]


_HEARD = frozenset({"open", *_REFUSED, *_READ})


def _audited(event: str, args: tuple[object, ...]) -> None:
    if event not in _HEARD:  # most are not, and this is on the path of every frozen value that is made
        return
    watch = _watch
    if watch is None:
        return
    if event == "open":
        _opened(watch, args)
        return
    source = _REFUSED.get(event)
    if source is not None and not (event == "sqlite3.connect" and args == (":memory:",)):
        watch.read(event, source, internal=True)
        raise Refused(event, source)
    source = _READ.get(event)
    if source is not None and not _is_code(args[0] if args else None):
        watch.read(event, source)


def _opened(watch: Watch, args: tuple[object, ...]) -> None:
    path, mode, flags = (*args, None, None, None)[:3]
    if isinstance(path, int) or path in (os.devnull, b"/dev/null"):
        return
    writes = bool(set(mode) & set("wax+")) if isinstance(mode, str) else False
    if isinstance(flags, int) and flags & _WRITE_FLAGS:
        writes = True
    if writes:
        watch.read("open(…) for writing", "file", depth=2, internal=True)
        raise Refused(f"writing {path!r}", "file")
    if not _is_code(path):
        watch.read("open", "file", depth=2)


def _is_code(path: object) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    text = os.fsdecode(cast("str | bytes | os.PathLike[str]", path))
    return text.endswith(_CODE) or is_installed(text)


def _nowhere(handler: logging.FileHandler) -> TextIO:
    return cast("TextIO", open(os.devnull, handler.mode, encoding="utf-8"))


def _noticing(watch: Watch, name: str, source: Source) -> Callable[..., object]:
    genuine = getattr(os, name)

    def noticed(*args: object, **kwargs: object) -> object:
        if source == "file" and args and _is_code(args[0]):
            return genuine(*args, **kwargs)
        blamed = watch.read(f"os.{name}", source)
        return _PROCESS_ID if blamed and name == "getpid" else genuine(*args, **kwargs)

    return noticed


_ENVIRON_PARTS = ("_data", "encodekey", "decodekey", "encodevalue", "decodevalue")


def _environment(watch: Watch, name: str) -> object:
    genuine: Mapping[object, object] = getattr(os, name)
    kind: type = type(genuine)  # the class has no public name

    class Environ(kind):  # type: ignore[misc]  # pyright: ignore[reportUntypedBaseClass]
        def __getitem__(self, key: object) -> object:
            watch.read(f"os.{name}[{key!r}]", "process")
            return genuine[key]

        def __contains__(self, key: object) -> bool:
            watch.read(f"os.{name}[{key!r}]", "process")
            return key in genuine

        def __iter__(self) -> Iterator[object]:
            watch.read(f"os.{name}", "process")
            return iter(list(genuine))

    # Shares what is there, as os itself makes it: what is set in one is read in the other.
    return Environ(*(getattr(genuine, part) for part in _ENVIRON_PARTS))
