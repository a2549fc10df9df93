"""What the boundary reads out of model requests and answers; every provider dialect that matters, nothing required."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tachograph.core.boundary._shapes import is_mapping, is_row
from tachograph.core.boundary._values import Outcome
from tachograph.schemas import ModelRequest, ModelResponse, Usage

_NOT_PARAMETERS = frozenset({"messages", "tools", "input", "prompt", "system", "model", "contents"})
_SIMPLE = (str, float, type(None))

_BITS_MAX = 1024
"""Of a whole number among parameters: Python refuses to spell out much longer ones."""


def model_request(
    provider: str, arguments: Mapping[str, object], version: str | None, template: str | None
) -> ModelRequest:
    """Details of a model call from its keyword arguments."""
    parameters = {key: value for key, value in arguments.items() if key not in _NOT_PARAMETERS and _is_simple(value)}
    return ModelRequest(
        provider=provider,
        model=str(arguments.get("model", "")),
        version=version,
        parameters=json.dumps(parameters, sort_keys=True, separators=(",", ":")),
        prompt_template=template,
        prompt_digest=None,
        tools_digest=None,
    )


def with_model_details(outcome: Outcome) -> Outcome:
    """The outcome with usage and stop reason, where the answer names them."""
    answer = outcome.value
    if answer is None:
        return outcome
    stop_reason = _field(answer, "stop_reason") or _field(_first(_field(answer, "choices")), "finish_reason")
    model = _field(answer, "model")
    details = ModelResponse(
        model=model if isinstance(model, str) else None,
        stop_reason=stop_reason if isinstance(stop_reason, str) else None,
    )
    return Outcome(
        outcome.status, outcome.value, outcome.error, _usage(_field(answer, "usage")), outcome.receipt, details
    )


def _is_simple(value: object) -> bool:
    if isinstance(value, int):
        return value.bit_length() <= _BITS_MAX
    return isinstance(value, _SIMPLE)


def _usage(usage: object) -> Usage | None:
    if usage is None:
        return None
    tokens_in = _field(usage, "input_tokens")
    tokens_out = _field(usage, "output_tokens")
    return Usage(
        _whole(tokens_in if tokens_in is not None else _field(usage, "prompt_tokens")),
        _whole(tokens_out if tokens_out is not None else _field(usage, "completion_tokens")),
        _whole(_field(usage, "cost_micros")),
    )


def _field(value: object, name: str) -> object:
    if is_mapping(value):
        return value.get(name)
    return getattr(value, name, None)


def _first(value: object) -> object:
    return value[0] if is_row(value) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
