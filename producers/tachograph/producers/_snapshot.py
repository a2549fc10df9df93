"""The input snapshot: every version that can change a decision, as far as it can be known without being told."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping

from tachograph.core.boundary import InputSnapshot
from tachograph.producers._code import code_commit, code_digest, lock_digest
from tachograph.producers._entrypoint import Entrypoint


def snapshot(entrypoint: Entrypoint | None, given: InputSnapshot | Mapping[str, object] | None) -> dict[str, object]:
    """The versions that are known; what was given stands above what was found."""
    versions: dict[str, object] = {
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
        "os": f"{platform.system()} {platform.release()}",
    }
    if entrypoint is not None:
        versions |= _code_versions(entrypoint)
    stated = given.versions if isinstance(given, InputSnapshot) else given or {}
    return versions | dict(stated)


def _code_versions(entrypoint: Entrypoint) -> dict[str, object]:
    if entrypoint.source is None:
        return {}
    found = {
        "code_path": str(entrypoint.code_path),
        "code_digest": code_digest(entrypoint.source),
        "code_commit": code_commit(entrypoint.source),
        "lock_digest": lock_digest(entrypoint.source),
    }
    return {name: value for name, value in found.items() if value is not None}
