"""OpenTelemetry spans, with and without payload, and Langfuse's observe; nothing leaves the process."""

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
    """Langfuse's decorator with its exporter replaced by nothing."""
    logging.disable(logging.CRITICAL)
    client = Langfuse(
        public_key="pk-lf-bench", secret_key="sk-lf-bench", base_url="http://127.0.0.1:9", span_exporter=_Nowhere()
    )
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
