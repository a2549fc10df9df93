"""Which addresses a process listens on, as the kernel tells it."""

from __future__ import annotations

import ipaddress
from pathlib import Path

_LISTEN = "0A"


def listening(pid: int) -> set[str]:
    """The local addresses of a process's listening TCP sockets."""
    inodes = {link for link in _links(pid) if link.startswith("socket:[")}
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and f"socket:[{fields[9]}]" in inodes:
                found.add(_address(fields[1].partition(":")[0]))
    return found


def _links(pid: int) -> set[str]:
    found: set[str] = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(str(entry.readlink()))
        except FileNotFoundError:  # closed meanwhile
            continue
    return found


def _address(text: str) -> str:
    """Each group of eight digits is a word in the machine's byte order."""
    words = (bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8))
    address = ipaddress.ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
