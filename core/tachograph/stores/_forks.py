"""A forked child lets go of its parent's spools: else the parent's lock would outlive the parent."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class _Abandonable(Protocol):
    def abandon(self) -> None: ...


class _Register:
    def __init__(self) -> None:
        self._open: weakref.WeakSet[_Abandonable] = weakref.WeakSet()
        self._registered = False

    def add(self, resource: _Abandonable) -> None:
        self._open.add(resource)
        if not self._registered:
            self._registered = True
            os.register_at_fork(after_in_child=self._abandon_all)

    def _abandon_all(self) -> None:
        for resource in tuple(self._open):
            resource.abandon()
        self._open.clear()


_register = _Register()


def close_in_children(resource: _Abandonable) -> None:
    """From now on every forked child abandons the resource."""
    _register.add(resource)
