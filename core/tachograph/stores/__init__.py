"""Where events, bodies and derived facts are kept: spools, objects, catalogue, keys, and their verification.

`Home` holds the rooms together. `SpoolWriter` writes the log of one process life, `LocalLog` reads the spools of all of
them, `DirectoryObjects` keeps bodies under their digests, `RawBodies`
what redaction took out of them, sealed. What is derived from the log can be rebuilt from it.
"""

from tachograph.stores._audit import Access, AuditLog
from tachograph.stores._catalogue import SqliteCatalogue
from tachograph.stores._catalogue_port import Catalogue
from tachograph.stores._cut_base import At, archived_positions, archived_step, state_from_snapshot
from tachograph.stores._cuts import FleetState, InvalidOffsets, causality_of, linked_runs, positions_at, state_at
from tachograph.stores._findings import Finding, FindingKind, VerifyReport
from tachograph.stores._home import Home
from tachograph.stores._log import LocalLog, TornTail
from tachograph.stores._objects import DirectoryObjects
from tachograph.stores._raw import RawBodies
from tachograph.stores._raw_run import RawRun
from tachograph.stores._rebuild import RebuildReport, rebuild
from tachograph.stores._rows import EffectRow, RunRow, RunStatus
from tachograph.stores._segments import Spool, SpoolState
from tachograph.stores._spool import SpoolWriter
from tachograph.stores._tenant_keys import TenantKeys
from tachograph.stores._union_catalogue import UnionCatalogue
from tachograph.stores._verify import verify_home

__all__ = [
    "Access",
    "At",
    "AuditLog",
    "Catalogue",
    "DirectoryObjects",
    "EffectRow",
    "Finding",
    "FindingKind",
    "FleetState",
    "Home",
    "InvalidOffsets",
    "LocalLog",
    "RawBodies",
    "RawRun",
    "RebuildReport",
    "RunRow",
    "RunStatus",
    "Spool",
    "SpoolState",
    "SpoolWriter",
    "SqliteCatalogue",
    "TenantKeys",
    "TornTail",
    "UnionCatalogue",
    "VerifyReport",
    "archived_positions",
    "archived_step",
    "causality_of",
    "linked_runs",
    "positions_at",
    "rebuild",
    "state_at",
    "state_from_snapshot",
    "verify_home",
]
