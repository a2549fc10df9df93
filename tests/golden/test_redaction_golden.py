"""The rules of a policy's version never change: a replay redacts as the recording did."""

from __future__ import annotations

import json

from tachograph.core.canonical import Digester, encode_body
from tachograph.core.redaction import policy_of

VALUE = {
    "user": "Jane Doe <jane@example.com>",
    "phones": ["+49 30 1234567", "(415) 555-0123", "030/1234567"],
    "card": "4111 1111 1111 1111",
    "Authorization": "Bearer abc",
    "nested": json.dumps({"api_key": "k-1", "to": "jane@example.com"}),
    "log": "token=abc123 and Bearer 0123456789abcdef0 and sk-0123456789abcdefghij",
    "input_tokens": 12,
    "order": "2024-0012345",
}

WRITTEN = (
    b'{"user":"Jane Doe <[email:ab2136393eac]>","phones":["[phone:d03d7913184f]","[phone:060768b4334d'
    b']","[phone:ddedd8ec1987]"],"card":"[card:97b7cc96baf5]","Authorization":"[secret:538b9dfbaaa9]"'
    b',"nested":"{\\"api_key\\": \\"[secret:0b39970a81f0]\\", \\"to\\": \\"[email:ab2136393eac]\\"}","log":"t'
    b'oken=[secret:d426c4fa3fae] and Bearer [secret:295b63a61394] and [secret:1f8f758c2d08]","input_t'
    b'okens":12,"order":"2024-0012345"}'
)


def test_default_1_replaces_what_it_always_replaced() -> None:
    """Byte for byte, tokens included."""
    assert policy_of("default/1").redact(encode_body(VALUE), Digester(bytes(32))) == (WRITTEN, True)
