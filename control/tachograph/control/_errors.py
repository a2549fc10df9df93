"""Errors that only the command line has.

CallerError
├── UsageError          a command line that cannot be understood
├── AmbiguousRun        a prefix that several runs share
├── OutputExists        a file that would be overwritten
└── OtherDigestKey      an exported run that cannot be checked with this home's key
WorldError
├── DemoStopped         a command of a demo failed, so that the story ends
├── NotArchivedYet      a run that the catalogue knows, and the archive does not
├── OutputUnwritable    standard output takes no more
├── ServiceUnavailable  another floor's part is not installed, or does not load
└── EvidenceBroken
    └── BundleDamaged   an exported run that is not what was exported
"""

from __future__ import annotations

from collections.abc import Sequence

from tachograph.core.errors import CallerError, EvidenceBroken, WorldError


class DemoStopped(WorldError):
    """A command of a demo failed, so that the story ends."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__(f"the demo cannot go on: {said or 'a command ended without a word'}")


class NotArchivedYet(WorldError):
    """A run that the catalogue knows, and the archive does not: it is told of sooner than its events are stored."""

    exit_code = 2

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"the catalogue knows run {run_id!r}, but none of its events is in the archive yet. They come about half a "
            f"minute after they were shipped, where `tacho process archive` runs: try again then. If they were there "
            f"before, they are lost: `tacho rebuild --check` names all such runs."
        )


class UsageError(CallerError):
    """A command line that cannot be understood."""

    def __init__(self, problem: str, usage: str) -> None:
        self.problem = problem
        self.usage = usage
        super().__init__(f"{problem}. {usage}")


class AmbiguousRun(CallerError):
    """A prefix that several runs share."""

    def __init__(self, prefix: str, run_ids: Sequence[str]) -> None:
        self.prefix = prefix
        self.run_ids = tuple(run_ids)
        shown = ", ".join(run_ids[:3]) + (", …" if len(run_ids) > 3 else "")
        super().__init__(f"{prefix!r} begins {len(run_ids)} runs: {shown}. Give more characters.")


class OutputExists(CallerError):
    """A file that would be overwritten."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path!r} exists already. Name another file, or remove it first.")


class OtherDigestKey(CallerError):
    """An exported run that cannot be checked with this home's key."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path!r} is not imported: the digest key of the home that it was exported from is not here, without which "
            f"its bodies can be neither checked nor replayed. Copy that home's `keys/digest.key` into `keys` of a new "
            f"directory and import it there: `tacho --home DIR import bundle FILE`."
        )


class BundleDamaged(EvidenceBroken):
    """An exported run that is not what was exported."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path!r} is not imported: {reason}. Export the run again from the home that it comes from.")


class OutputUnwritable(WorldError):
    """Standard output takes no more."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"cannot write to standard output: {reason}. Free space, or send the output elsewhere.")


class ServiceUnavailable(WorldError):
    """Another floor's part is not installed, or does not load."""

    exit_code = 2

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(
            f"the service {name!r} is not available: {reason}. Install it with `pip install 'tachograph[all]'`."
        )
