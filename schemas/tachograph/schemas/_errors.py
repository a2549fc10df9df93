"""The errors of reading and writing events: the lowest floor's part of the tree drawn in `tachograph.core.errors`."""

from __future__ import annotations


class TachographError(Exception):
    """Root of every error that Tachograph raises."""

    exit_code: int = 70
    """What the command line exits with when this error ends a command."""


class InternalError(TachographError):
    """A bug of Tachograph."""


class SchemaMismatch(InternalError):
    """Fields that do not fit the event type they were to be written as."""

    def __init__(self, schema: str, reason: str) -> None:
        self.schema = schema
        self.reason = reason
        super().__init__(
            f"cannot write the event as {schema!r}: {reason}. Give exactly the fields of its class, with their types."
        )


class WorldError(TachographError):
    """The world outside failed."""

    exit_code = 70


class EvidenceBroken(WorldError):
    """What was stored cannot be read back."""

    exit_code = 1


class CorruptPayload(EvidenceBroken):
    """Bytes that are no event, or no container of events."""

    def __init__(self, what: str, offset: int, reason: str) -> None:
        self.what = what
        self.offset = offset
        self.reason = reason
        super().__init__(f"{what} is damaged at byte {offset}: {reason}. Fetch the evidence again from its source.")


class UnsupportedSchema(EvidenceBroken):
    """An event that must be read has a schema this release does not know."""

    exit_code = 2

    def __init__(self, schema: str, version: str) -> None:
        self.schema = schema
        self.version = version
        super().__init__(
            f"schema {schema!r} version {version} is required and not known to this release. "
            f"Read it with a newer tachograph."
        )


class LimitExceeded(EvidenceBroken):
    """Foreign bytes that ask for more than a limit allows."""

    def __init__(self, what: str, found: int, limit: int) -> None:
        self.what = what
        self.found = found
        self.limit = limit
        super().__init__(f"{what} is {found}, the limit is {limit}: the bytes are refused unread.")
