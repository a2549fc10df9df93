"""The effect ledger: an effect of which nobody knows whether it happened is never executed again by itself.

`_states` says how an effect moves, `_ledger` refuses what must not be executed.
"""

from tachograph.core.effects._ledger import Ledger
from tachograph.core.effects._states import after_crash, decided, may_move, transition

__all__ = ["Ledger", "after_crash", "decided", "may_move", "transition"]
