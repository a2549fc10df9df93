"""The error tree.

    TachographError
    ├── CallerError                 the caller can mend it
    │   ├── UnserialisableValue     a value that no codec can write
    │   ├── InvalidIdentifier       an id that cannot be a key or a path
    │   ├── UnknownRun              no such run in this home
    │   ├── UnknownEffect           no such effect, or not one that waits for a decision
    │   ├── EntrypointNotFound      control logic that cannot be imported
    │   ├── AgentMisuse             an agent used after its end, in a forked child, …
    │   ├── InvalidSetting          a setting or option that cannot be
    │   ├── UnreadableInput         a file to import that is not what it should be
    │   └── EffectRefused           the ledger refuses an effect
    │       ├── ReconciliationRequired
    │       └── EffectAlreadyConfirmed
    ├── WorldError                  the world outside failed
    │   ├── SpoolUnwritable         the local log cannot be written: disk full, I/O error
    │   ├── StoreUnavailable        an object store or catalogue does not answer
    │   ├── PluginDisabled          a plug-in that the harness cannot do without is broken
    │   ├── KeyRefused              whoever keeps a tenant's key does not open a run's key with it
    │   └── EvidenceBroken          what was stored cannot be read back
    │       ├── CorruptFrame
    │       ├── CorruptPayload      bytes that are no event
    │       ├── MissingBody
    │       ├── RawUnavailable      the raw form of a body cannot be had
    │       ├── SealBroken          sealed bytes that do not open
    │       ├── UnreadableBody      a payload that holds what cannot be decoded here
    │       ├── UnsupportedSchema
    │       └── LimitExceeded
    └── InternalError               our bug
        └── SchemaMismatch          fields that do not fit their event type

Every error writes its own message: what happened, to which value, what to do.
"""

from __future__ import annotations

from typing import Self

from tachograph.schemas import EvidenceBroken, TachographError, WorldError


class CallerError(TachographError):
    """The caller can mend it."""

    exit_code = 64


class UnserialisableValue(CallerError):
    """A value that cannot be recorded.

    Args:
        path: where it stands in the payload, as in `$.args[1]`.
        type_name: the class of the value.
        reason: why it cannot be written.
    """

    def __init__(self, path: str, type_name: str, reason: str = "no codec is registered for it") -> None:
        self.path = path
        self.type_name = type_name
        self.reason = reason
        super().__init__(
            f"cannot record the value at {path} of type {type_name!r}: {reason}. "
            f"Pass plain data, or register a codec with tachograph.core.canonical.register_codec."
        )


class InvalidIdentifier(CallerError):
    """An id that cannot serve as a key and as a path."""

    def __init__(self, what: str, value: str, reason: str) -> None:
        self.what = what
        self.value = value
        self.reason = reason
        super().__init__(
            f"{what} {value!r} cannot be used: {reason}. "
            f"Use 1 to 200 letters, digits, '.', '_', '-', ':' or '@', parts of an agent id divided by '/'."
        )


class UnknownRun(CallerError):
    """No such run here."""

    def __init__(self, run_id: str, where: str, nearest: tuple[str, ...] = ()) -> None:
        self.run_id = run_id
        self.where = where
        self.nearest = nearest
        hint = f" Nearest: {', '.join(nearest)}." if nearest else ""
        super().__init__(f"no run {run_id!r} in {where}.{hint} List the runs with `tacho runs`.")


class UnknownEffect(CallerError):
    """No such effect, or it does not wait for a decision."""

    def __init__(self, effect_id: str, reason: str) -> None:
        self.effect_id = effect_id
        self.reason = reason
        super().__init__(f"effect {effect_id!r}: {reason}. List the effects with `tacho effects`.")


class EntrypointNotFound(CallerError):
    """Control logic that cannot be imported."""

    exit_code = 2

    def __init__(self, entrypoint: str, reason: str, remedy: str | None = None) -> None:
        self.entrypoint = entrypoint
        self.reason = reason
        remedy = remedy or "Give the directory of the code with `--code DIR`, or check the name."
        super().__init__(f"cannot import the entry point {entrypoint!r}: {reason.rstrip('.')}. {remedy}")


class AgentMisuse(CallerError):
    """An agent or run used where it cannot be."""

    def __init__(self, agent_id: str, reason: str, remedy: str) -> None:
        self.agent_id = agent_id
        self.reason = reason
        super().__init__(f"agent {agent_id!r}: {reason}. {remedy}")

    @classmethod
    def ended(cls, agent_id: str) -> Self:
        """Of an agent that has ended: control logic may read the text, so that a replay must say the same."""
        return cls(
            agent_id,
            "it has ended, nothing can be recorded for it any more",
            "Use an agent only inside its `with` block, and await its tasks before the block ends.",
        )

    @classmethod
    def within_call(cls, agent_id: str, what: str) -> Self:
        """Of an agent that is used by a tool or another call."""
        return cls(
            agent_id,
            f"{what} within a call of an agent, which a replay does not execute",
            "Do it in control logic, before or after the call, and hand over what the call needs as its arguments.",
        )


class InvalidSetting(CallerError):
    """A setting that cannot be."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        self.name = name
        self.value = value
        super().__init__(f"setting {name} = {value!r}: {reason}.")


class UnreadableInput(CallerError):
    """A file to import that is not what it should be."""

    def __init__(self, path: str, reason: str, remedy: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"cannot read {path!r}: {reason}. {remedy}")


class EffectRefused(CallerError):
    """The effect ledger refuses to execute an effect."""

    exit_code = 2


class ReconciliationRequired(EffectRefused):
    """An earlier attempt of the same effect is UNKNOWN: it may have happened."""

    def __init__(self, name: str, idempotency_key: str, effect_id: str) -> None:
        self.name = name
        self.idempotency_key = idempotency_key
        self.effect_id = effect_id
        super().__init__(
            f"{name!r} with idempotency key {idempotency_key!r} was not executed: effect {effect_id} is UNKNOWN, "
            f"it may already have happened. Find out, then `tacho reconcile {effect_id} --as confirmed|failed`."
        )


class EffectAlreadyConfirmed(EffectRefused):
    """The same effect has already happened."""

    def __init__(self, name: str, idempotency_key: str, effect_id: str) -> None:
        self.name = name
        self.idempotency_key = idempotency_key
        self.effect_id = effect_id
        super().__init__(
            f"{name!r} with idempotency key {idempotency_key!r} was not executed: effect {effect_id} is already "
            f"CONFIRMED. Use its receipt, or another key if a second one is meant."
        )


class SpoolUnwritable(WorldError):
    """The local log cannot be written."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"cannot write the event log {path!r}: {reason}. No effect is executed until it can be written again; "
            f"free space or repair the disk, then restart. What was recorded before is intact."
        )


class StoreUnavailable(WorldError):
    """A store does not answer."""

    def __init__(self, store: str, reason: str) -> None:
        self.store = store
        self.reason = reason
        super().__init__(f"the store {store!r} is not available: {reason}.")


class PluginDisabled(WorldError):
    """A plug-in that the harness cannot do without is broken."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(
            f"the plug-in {name!r} is disabled: {reason}. Mend it, or name another one under ports in the assembly."
        )


class KeyRefused(WorldError):
    """A run's key cannot be opened with the tenant's; without a tenant: there is no key."""

    exit_code = 2

    def __init__(self, tenant: str, run_id: str, reason: str) -> None:
        self.tenant = tenant
        self.run_id = run_id
        self.reason = reason
        what = f"the key of run {run_id} cannot be opened with that of tenant {tenant!r}"
        super().__init__(
            f"{what if tenant else f'run {run_id} has no key'}: {reason}. "
            f"Nothing raw can be read without it; everything else can."
        )


class CorruptFrame(EvidenceBroken):
    """Bytes of the log that are not what was written."""

    def __init__(self, path: str, offset: int, reason: str) -> None:
        self.path = path
        self.offset = offset
        self.reason = reason
        super().__init__(f"{path} is damaged at byte {offset}: {reason}. Run `tacho verify` for the extent.")


class MissingBody(EvidenceBroken):
    """A payload that an event names is not in the store, or is not what it was."""

    exit_code = 2

    def __init__(self, digest: str, event_id: str, reason: str = "it is not in the object store") -> None:
        self.digest = digest
        self.event_id = event_id
        self.reason = reason
        super().__init__(
            f"the body {digest} of event {event_id} cannot be read: {reason}. Restore the object store from a backup."
        )


class RawUnavailable(EvidenceBroken):
    """The raw form of a body cannot be had."""

    exit_code = 2

    def __init__(self, event_id: str, field: str, reason: str) -> None:
        self.event_id = event_id
        self.field = field
        self.reason = reason
        super().__init__(
            f"the raw form of {field} of event {event_id} cannot be shown: {reason}. Its redacted form can."
        )


class SealBroken(EvidenceBroken):
    """Sealed bytes that do not open."""

    exit_code = 2

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"what was sealed cannot be opened: {reason}. Restore it and its key from a backup.")


class UnreadableBody(EvidenceBroken):
    """A payload whose bytes are whole but cannot be turned into values here."""

    exit_code = 2

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"a recorded value cannot be decoded: {reason}. Import the module that registers its codecs first, "
            f"or read it with the release that wrote it."
        )
