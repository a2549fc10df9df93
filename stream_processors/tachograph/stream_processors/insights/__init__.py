"""Insights: the Faust application that watches findings over the whole fleet.

`_step` sorts what arrives, `_trends` counts it in windows, both pure; `_applier` brings it to the catalogue and the topics;
`_faust` (with `_credentials`) is the only module that imports Faust and is no more than transport.
"""

from tachograph.stream_processors.insights._applier import Applier, InsightsStatistics
from tachograph.stream_processors.insights._run import run_insights
from tachograph.stream_processors.insights._step import Arrived, Poison, Sorted, sort
from tachograph.stream_processors.insights._trends import Day, ReplayWindow, SignatureTrend, Trends

__all__ = [
    "Applier",
    "Arrived",
    "Day",
    "InsightsStatistics",
    "Poison",
    "ReplayWindow",
    "SignatureTrend",
    "Sorted",
    "Trends",
    "run_insights",
    "sort",
]
