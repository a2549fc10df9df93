"""What can go wrong with a schema registry, in words that say what to do.

WorldError
├── StoreUnavailable
│   └── RegistryUnavailable   it does not answer
├── IncompatibleSchema        it refuses a schema: readers of the others would not understand it
├── RegistryReplaced          it gives other ids than it gave before
└── EvidenceBroken
    └── UnknownSchemaId       a record whose schema nobody can tell
"""

from __future__ import annotations

from tachograph.core.errors import EvidenceBroken, StoreUnavailable, WorldError


class RegistryUnavailable(StoreUnavailable):
    """The registry does not answer, or answers that it cannot now.

    Args:
        url: of the registry.
        reason: what happened.
    """


class IncompatibleSchema(WorldError):
    """The registry refuses a schema.

    Args:
        subject: under which it was to be registered.
        schema: type and version, as in `CallStarted/1`.
        reason: the registry's.
    """

    exit_code = 2

    def __init__(self, subject: str, schema: str, reason: str) -> None:
        self.subject = subject
        self.schema = schema
        super().__init__(
            f"the registry refuses schema {schema!r} under subject {subject!r}: {reason}. "
            f"Look whether somebody registered another schema there; readers need FULL_TRANSITIVE compatibility."
        )


class RegistryReplaced(WorldError):
    """The registry knows our schemas under other ids than before.

    Args:
        url: of the registry.
        schema: type and version, as in `CallStarted/1`.
        before: the id that records were written under.
        now: the id that it gives.
        cache: the file that holds the ids known so far.
    """

    exit_code = 2

    def __init__(self, url: str, schema: str, before: int, now: int, cache: str) -> None:
        self.before = before
        self.now = now
        super().__init__(
            f"the registry {url} gives schema {schema!r} the id {now}, and gave {before} before: it was made anew, and "
            f"records under the old ids would be misread. Restore it from its backup; or, when no record under the old "
            f"ids is left in the topics, remove {cache!r}."
        )


class UnknownSchemaId(EvidenceBroken):
    """A record whose schema nobody can tell.

    Args:
        schema_id: as the record says; None where it says none.
        reason: why it is not known.
    """

    exit_code = 2

    def __init__(self, schema_id: int | None, reason: str) -> None:
        self.schema_id = schema_id
        self.reason = reason
        super().__init__(
            f"schema id {schema_id} is not known: {reason}. Read the record with a newer tachograph, or with the "
            f"registry that its producer used."
        )
