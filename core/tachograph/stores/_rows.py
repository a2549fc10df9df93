"""What the catalogue tells: one value per run and per effect, as findings carry them."""

from tachograph.core.findings import EffectRow, RunRow, RunStatus

__all__ = ["EffectRow", "RunRow", "RunStatus"]
