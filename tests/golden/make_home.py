"""Writes a golden home of the log's current format; refuses to overwrite one.

Run: `PYTHONPATH=tests python tests/golden/make_home.py tests/golden/homes/N`, once per format version.
"""

from __future__ import annotations

import sys
from pathlib import Path

from chains import Chain, Clock
from tachograph.schemas import EffectState
from tachograph.stores import Home

KEY = b"the digest key of a golden home."


def make(directory: Path) -> None:
    """A home with a closed spool over two segments, one that a crash left torn, a large body and an open effect."""
    if directory.exists():
        raise SystemExit(f"{directory} is there already: golden files are never written again")
    (directory / "keys").mkdir(parents=True)
    (directory / "keys" / "digest.key").write_bytes(KEY)
    home = Home.open(directory, create=True)
    clock = Clock()
    chain = Chain("golden-1", "run", clock, digester=home.digester, objects=home.objects)
    with home.new_spool(segment_bytes_max=600) as writer:
        writer.append([chain.run_started(), chain.call_started(value=" ".join(map(str, range(4000))))])
        writer.append([chain.call_finished("found"), chain.run_finished()])
    chain = Chain("golden-2", "run", clock, digester=home.digester)
    writer = home.new_spool()
    writer.append([chain.run_started(), chain.call_started("send_mail", {"to": "ada"}, key="k-1")])
    writer.append([chain.moved(chain.event_id, "send_mail", "k-1", EffectState.PLANNED, EffectState.EXECUTING)])
    writer.append([chain.call_finished("never whole")])
    writer.abandon()
    segment = writer.path / "00000001.seg"
    segment.write_bytes(segment.read_bytes()[:-9])


if __name__ == "__main__":
    make(Path(sys.argv[1]))
