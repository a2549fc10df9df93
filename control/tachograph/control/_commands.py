"""Every command, in the order of `tacho --help`."""

from __future__ import annotations

from tachograph.control import (
    _cones,
    _demo,
    _dev,
    _diff,
    _doctor,
    _effects,
    _evidence,
    _fork,
    _import,
    _process,
    _replay,
    _runs,
    _ship,
    _show,
    _signatures,
    _state,
    _timeline_command,
    _topics,
)
from tachograph.control._parser import Commands


def register_all(commands: Commands) -> None:
    """Add every command."""
    for group in (
        _demo,
        _import,
        _runs,
        _show,
        _timeline_command,
        _state,
        _cones,
        _replay,
        _fork,
        _diff,
        _effects,
        _signatures,
        _evidence,
        _process,
        _topics,
        _ship,
        _dev,
        _doctor,
    ):
        group.register(commands)
