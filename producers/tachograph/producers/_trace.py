"""The span that surrounds a recorded event, where OpenTelemetry is in use in this process: never a dependency.

A trace context is written as W3C Trace Context says (<https://www.w3.org/TR/trace-context/#traceparent-header>).
"""

from __future__ import annotations

import sys
from typing import Protocol, cast

OPENTELEMETRY = "opentelemetry.trace"
"""In `sys.modules` where something in this process uses spans."""


class _SpanContext(Protocol):
    trace_id: int
    span_id: int
    trace_flags: int
    is_valid: bool


class _Span(Protocol):
    def get_span_context(self) -> _SpanContext: ...


class _Spans(Protocol):
    def get_current_span(self) -> _Span: ...


class _Latest:
    """The latest span, as it is asked for again and again while it lasts."""

    __slots__ = ("context", "text")

    def __init__(self, context: object = None, text: str | None = None) -> None:
        self.context = context
        self.text = text


_latest = [_Latest()]


def traceparent() -> str | None:
    """The caller's current span; None where there is none.

    To be called only where `OPENTELEMETRY` is in `sys.modules`, which is for the caller to see: it costs less.
    """
    try:
        spans = cast("_Spans", sys.modules[OPENTELEMETRY])
        context = spans.get_current_span().get_span_context()
        latest = _latest[0]
        if context is latest.context:
            return latest.text
        text = _text(context)
    except Exception:  # noqa: BLE001 whatever a foreign tracer does, recording goes on
        return None
    _latest[0] = _Latest(context, text)
    return text


def _text(context: _SpanContext) -> str | None:
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 0xFF:02x}"
