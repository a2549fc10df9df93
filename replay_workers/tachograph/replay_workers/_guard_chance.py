"""Randomness and ids that bypass the boundary: noticed, and answered the same in every replay."""

from __future__ import annotations

import base64
import os
import random
import secrets
import uuid
from collections.abc import Callable
from typing import Any

from tachograph.replay_workers._guard_time import Patch
from tachograph.replay_workers._watch import Source, Watch

_FUNCTIONS = (
    "betavariate", "binomialvariate", "choice", "choices", "expovariate", "gammavariate", "gauss", "getrandbits",
    "lognormvariate", "normalvariate", "paretovariate", "randbytes", "randint", "random", "randrange", "sample",
    "shuffle", "triangular", "uniform", "vonmisesvariate", "weibullvariate",
)  # fmt: skip
_SEED = 0x7AC0
_TOKEN_BYTES = 32


class _Shared:
    """The generator behind the functions of `random`; seeded by control logic, its draws are no surprise."""

    def __init__(self) -> None:
        self.generator = random.Random(_SEED)
        self.seeded = False

    def seed(self, a: Any = None, version: int = 2) -> None:  # whatever random.seed takes
        self.seeded = a is not None
        self.generator.seed(_SEED if a is None else a, version)

    def setstate(self, state: Any) -> None:  # as random.getstate gave it
        self.seeded = True
        self.generator.setstate(state)


def chance_patches(watch: Watch) -> list[Patch]:
    """What replaces the functions of `random`, `secrets`, `uuid` and `os`."""
    shared = _Shared()
    hidden = random.Random(_SEED + 1)
    patches: list[Patch] = [(random, "seed", shared.seed), (random, "setstate", shared.setstate)]
    for name in (*_FUNCTIONS, "getstate"):
        if hasattr(random, name):
            patches.append((random, name, _drawing(watch, name, shared)))
    patches.append((random, "Random", _random_class(watch)))
    patches.append((random, "SystemRandom", _system_class(watch)))
    for owner, name, source, make in _makers(hidden):
        if hasattr(owner, name):
            patches.append((owner, name, _noticing(watch, f"{owner.__name__}.{name}", source, make)))
    return patches


def _drawing(watch: Watch, name: str, shared: _Shared) -> Callable[..., object]:
    draw = getattr(shared.generator, name)

    def drawn(*args: object, **kwargs: object) -> object:
        if not shared.seeded:
            watch.read(f"random.{name}", "random")
        return draw(*args, **kwargs)

    return drawn


def _noticing(watch: Watch, what: str, source: Source, make: Callable[..., object]) -> Callable[..., object]:
    def noticed(*args: object, **kwargs: object) -> object:
        watch.read(what, source)
        return make(*args, **kwargs)

    return noticed


def _random_class(watch: Watch) -> type[random.Random]:
    class Random(random.Random):
        def __init__(self, x: Any = None) -> None:  # whatever random.Random takes
            if x is None:
                watch.read("random.Random", "random")
            super().__init__(_SEED if x is None else x)

        def seed(self, a: Any = None, version: int = 2) -> None:
            super().seed(_SEED if a is None else a, version)

    Random.__module__ = "random"
    Random.__qualname__ = "Random"
    return Random


def _system_class(watch: Watch) -> type[random.Random]:
    class SystemRandom(random.Random):
        def __init__(self, x: object = None) -> None:
            watch.read("random.SystemRandom", "random")
            super().__init__(_SEED)

        def seed(self, *args: object, **kwargs: object) -> None:
            super().seed(_SEED)

    SystemRandom.__module__ = "random"
    SystemRandom.__qualname__ = "SystemRandom"
    return SystemRandom


def _makers(hidden: random.Random) -> list[tuple[Any, str, Source, Callable[..., object]]]:
    def token(count: int | None = None) -> bytes:
        return hidden.randbytes(_TOKEN_BYTES if count is None else count)

    def urlsafe(count: int | None = None) -> str:
        return base64.urlsafe_b64encode(token(count)).rstrip(b"=").decode("ascii")

    def unique(*_: object) -> uuid.UUID:
        return uuid.UUID(bytes=hidden.randbytes(16), version=4)

    def time_based(*_: object, **__: object) -> uuid.UUID:
        return uuid.UUID(bytes=hidden.randbytes(16), version=1)

    def getrandom(size: int, flags: int = 0) -> bytes:
        return hidden.randbytes(size)

    def token_hex(nbytes: int | None = None) -> str:
        return token(nbytes).hex()

    return [
        (os, "urandom", "random", hidden.randbytes),
        (os, "getrandom", "random", getrandom),
        (secrets, "token_bytes", "random", token),
        (secrets, "token_hex", "random", token_hex),
        (secrets, "token_urlsafe", "random", urlsafe),
        (secrets, "choice", "random", hidden.choice),
        (secrets, "randbelow", "random", hidden.randrange),
        (secrets, "randbits", "random", hidden.getrandbits),
        (uuid, "uuid1", "id", time_based),
        (uuid, "uuid4", "id", unique),
    ]
