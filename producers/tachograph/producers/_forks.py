"""Forked children: a recorder starts a new life in them, and leaves its parent's alone."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """Something that must start anew in a forked child."""

    def forked(self) -> None:
        """Called in the child, where only the forking thread is left and any lock may be held for ever."""
        ...


class _Register:
    def __init__(self) -> None:
        self._known: weakref.WeakSet[Forkable] = weakref.WeakSet()
        self._registered = False

    def add(self, resource: Forkable) -> None:
        self._known.add(resource)
        if not self._registered:
            self._registered = True
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        for resource in tuple(self._known):
            resource.forked()


_register = _Register()


def tell_children(resource: Forkable) -> None:
    """From now on the resource starts anew in every forked child."""
    _register.add(resource)
