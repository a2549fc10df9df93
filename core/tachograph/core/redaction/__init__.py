"""What never gets into the record: secrets and personal data are replaced by stable keyed tokens of their kind."""

from tachograph.core.redaction._policy import DEFAULT_POLICY, NO_REDACTION, RedactionPolicy, policy_of
from tachograph.core.redaction._tokens import Digests

__all__ = ["DEFAULT_POLICY", "NO_REDACTION", "Digests", "RedactionPolicy", "policy_of"]
