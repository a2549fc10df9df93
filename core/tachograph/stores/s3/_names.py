"""Names of objects in a bucket, whatever the ids that they are made of."""

from __future__ import annotations

from urllib.parse import quote

from tachograph.core.errors import InvalidSetting


def name_part(text: str) -> str:
    """An id as one part of a name: percent-encoded, so that it neither divides the name nor climbs out of it.

    Raises:
        InvalidSetting: it is empty: what belongs to nobody has no name.
    """
    if not text:
        raise InvalidSetting("a part of an object's name", text, "it must not be empty")
    part = quote(text, safe="", errors="surrogatepass")
    # quote never touches dots, and servers take these two as paths.
    return part.replace(".", "%2E") if part in {".", ".."} else part
