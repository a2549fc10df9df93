"""The ports of the core: stores, sources, transports, and the services of the upper floors."""

from tachograph.core.ports._keys import KeyWrapper
from tachograph.core.ports._services import (
    SERVICES,
    DemoResult,
    DemoService,
    ForkOptions,
    ForkResult,
    ForkService,
    ImportResult,
    ImportService,
    Override,
    ProcessOptions,
    ProcessService,
    Progress,
    ReconcileService,
    ReplayOptions,
    ReplayResult,
    ReplayService,
    ReportService,
)
from tachograph.core.ports._shipping import Shipped, ShipService, TopicDifference, TopicReport, TopicsService
from tachograph.core.ports._sources import Clock, Transport
from tachograph.core.ports._stores import EventLog, EventSink, ObjectStore, PastEffect, PastEffects, Stored

__all__ = [
    "SERVICES",
    "Clock",
    "DemoResult",
    "DemoService",
    "EventLog",
    "EventSink",
    "ForkOptions",
    "ForkResult",
    "ForkService",
    "ImportResult",
    "ImportService",
    "KeyWrapper",
    "ObjectStore",
    "Override",
    "PastEffect",
    "PastEffects",
    "ProcessOptions",
    "ProcessService",
    "Progress",
    "ReconcileService",
    "ReplayOptions",
    "ReplayResult",
    "ReplayService",
    "ReportService",
    "ShipService",
    "Shipped",
    "Stored",
    "TopicDifference",
    "TopicReport",
    "TopicsService",
    "Transport",
]
