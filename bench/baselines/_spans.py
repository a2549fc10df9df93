"""OpenTelemetry spans, with and without payload, which go nowhere, and Langfuse's observe, up to its server."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import orjson
from langfuse import Langfuse, observe
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer

from bench._measure import Figures, Subject, timed, waits
from bench._payload import pairs
from bench.baselines._sink import sink

_PAIRS = pairs(256)


class _Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def _tracer() -> tuple[TracerProvider, Tracer]:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(_Nowhere()))
    return provider, provider.get_tracer("bench")


def span_with_payload() -> Subject:
    """A span with 15 attributes, two of them the payload as JSON."""
    provider, tracer = _tracer()

    def work(count: int) -> None:
        for index in range(count):
            arguments, result = _PAIRS[index % 256]
            with tracer.start_as_current_span("tool") as span:
                for number in range(13):
                    span.set_attribute(f"gen_ai.attribute.{number}", number)
                span.set_attribute("gen_ai.arguments", orjson.dumps(arguments).decode())
                span.set_attribute("gen_ai.result", orjson.dumps(result).decode())
        provider.force_flush()

    return lambda count: timed(work, count)


def span_wait() -> Subject:
    """What the caller waits for a span with 15 attributes and no payload."""
    _, tracer = _tracer()

    def one(_: int) -> None:
        with tracer.start_as_current_span("tool") as span:
            for number in range(15):
                span.set_attribute(f"gen_ai.attribute.{number}", number)

    return lambda count: waits(one, count)


def langfuse_observe() -> Subject:
    """Langfuse's decorator and its own exporter, which encodes the spans (OTLP) and posts them to a sink on this machine.

    A call is recorded when it has left as bytes, as ours has when its bytes are in the spool; a span that goes nowhere is
    not. The sink's CPU is not counted. Langfuse compresses by default (gzip, two fifths on top); as our spool holds
    what it gets, that is switched off.
    """
    logging.disable(logging.CRITICAL)
    client = Langfuse(public_key="pk-lf-bench", secret_key="sk-lf-bench", base_url=sink(), otel_compression="none")
    answer: dict[str, object] = {}

    @observe()
    def tool(arguments: dict[str, object]) -> dict[str, object]:
        return answer

    def work(count: int) -> None:
        nonlocal answer
        for index in range(count):
            arguments, answer = _PAIRS[index % 256]
            tool(arguments)
        client.flush()

    def measured(count: int) -> Figures:
        return timed(work, count)

    return measured
