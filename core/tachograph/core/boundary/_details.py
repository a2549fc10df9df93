"""What the boundary reads out of the answers of retrievals, policies and approvals; nothing is required of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tachograph.core.boundary._model import with_model_details
from tachograph.core.boundary._shapes import is_mapping, is_row
from tachograph.core.boundary._values import Outcome
from tachograph.schemas import ApprovalResponse, CallKind, Evidence, PolicyResponse, RetrievalResponse

NO_DIGEST = bytes(32)

_EPOCH = datetime.fromtimestamp(0, UTC)


def described(kind: CallKind, outcome: Outcome) -> Outcome:
    """The outcome with the details that its value carries for this kind of call."""
    describe = _DESCRIBE.get(kind)
    if describe is None or outcome.error is not None:
        return outcome
    try:
        return describe(outcome)
    except Exception:  # noqa: BLE001 the answer is a stranger's: what it raises when looked into is no failure of the call
        return outcome


def as_digest(given: object) -> bytes:
    """What a caller gives as a digest, as 32 bytes: itself when it is one, in hex or not, else the SHA-256 of it.

    Zeros stand for none: a digest that is not given must not keep the call from being recorded.
    """
    if given is None or given in (b"", ""):
        return NO_DIGEST
    data = given if isinstance(given, bytes) else str(given).encode()
    if len(data) == 2 * len(NO_DIGEST):
        try:
            return bytes.fromhex(data.decode())
        except ValueError:
            pass
    return data if len(data) == len(NO_DIGEST) else hashlib.sha256(data).digest()


def _with_evidence(outcome: Outcome) -> Outcome:
    value = outcome.value
    rows = value.get("evidence") if is_mapping(value) else value
    if not is_row(rows):
        return outcome
    evidence = tuple(_evidence(rank, row) for rank, row in enumerate(rows) if is_mapping(row) and "document_id" in row)
    return replace(outcome, details=RetrievalResponse(evidence))


def _evidence(rank: int, row: Mapping[str, object]) -> Evidence:
    score = row.get("score")
    return Evidence(
        document_id=str(row["document_id"]),
        document_version=str(row.get("document_version", "")),
        chunk_id=str(row.get("chunk_id", "")),
        chunk_hash=as_digest(row.get("chunk_hash")),
        rank=rank,
        score=float(score) if isinstance(score, int | float) else 0.0,
    )


def _with_decision(outcome: Outcome) -> Outcome:
    value = outcome.value
    if is_mapping(value):
        reasons = value.get("reasons")
        texts = tuple(str(reason) for reason in reasons) if is_row(reasons) else ()
        return replace(outcome, details=PolicyResponse(str(value.get("decision", "")), texts))
    return replace(outcome, details=PolicyResponse(str(value), ()))


def _with_approval(outcome: Outcome) -> Outcome:
    value = outcome.value
    if not is_mapping(value):
        return replace(outcome, details=ApprovalResponse("", value is True, 0, None))
    expiry = value.get("expires_at")
    details = ApprovalResponse(
        approver=str(value.get("approver", "")),
        granted=value.get("granted") is True,
        decided_at_us=_microseconds(value.get("decided_at")) or 0,
        expires_at_us=_microseconds(expiry),
    )
    return replace(outcome, details=details)


def _microseconds(moment: object) -> int | None:
    if isinstance(moment, datetime):
        return (moment.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
    return moment if isinstance(moment, int) else None


_DESCRIBE: dict[CallKind, Callable[[Outcome], Outcome]] = {
    "model": with_model_details,
    "retrieval": _with_evidence,
    "policy": _with_decision,
    "approval": _with_approval,
}
