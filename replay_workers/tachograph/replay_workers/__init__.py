"""Re-drives recorded runs: exactly, or forked; and reports what that showed.

`replay` reads a run's evidence (`_evidence`), cuts it into units, and hands each to a fresh process (`_process`, `_zygote`)
that knows nothing but what comes over a pipe (`_wire`). There a `Session` holds what control logic does against the recording,
a `ReplayTape` answers it, and a `Schedule` on a `VirtualLoop` lets results arrive in their recorded order. The guard
(`_guard`) names what bypasses the boundary. What the recording leaves open is searched for (`_search`). `report` writes
what a replay or a fork showed (`_report`).
"""

from tachograph.replay_workers._services import fork, replay, report

__all__ = ["fork", "replay", "report"]
