"""What can go wrong with an S3 store, in words that say what to do.

StoreUnavailable
├── S3Unreachable   it does not answer, or not in time: the same call may succeed later
└── S3Refused       it answers with a refusal: nothing changes until somebody mends the reason
"""

from __future__ import annotations

from typing import Final

from tachograph.core.errors import StoreUnavailable

_DENIED: Final = "access is denied ({code}); check TACHO_S3_ACCESS_KEY and TACHO_S3_SECRET_KEY, and what they may do"

REASONS: Final = {
    "NoSuchBucket": "there is no such bucket; make it, or mend TACHO_S3_BUCKET",
    "AccessDenied": _DENIED,
    "AllAccessDisabled": _DENIED,
    "InvalidAccessKeyId": _DENIED,
    "SignatureDoesNotMatch": _DENIED,
    "ExpiredToken": _DENIED,
    "RequestTimeTooSkewed": "the clocks of this machine and of the server differ too much ({code}); set them by NTP",
    "QuotaExceeded": "it is full ({code}); free space or raise the quota",
    "EntityTooLarge": "the object is larger than it takes ({code})",
}
"""By S3's error code; https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"""


class S3Unreachable(StoreUnavailable):
    """The S3 store does not answer, or answers that it cannot now.

    Args:
        endpoint: URL of the server and bucket.
        reason: what happened.
    """


class S3Refused(StoreUnavailable):
    """The S3 store refuses.

    Args:
        endpoint: URL of the server and bucket.
        code: S3's error code.
        status: of HTTP.
    """

    def __init__(self, endpoint: str, code: str, status: int) -> None:
        self.code = code
        self.status = status
        super().__init__(endpoint, REASONS.get(code, "it refuses with {code}").format(code=f"{code}, HTTP {status}"))
