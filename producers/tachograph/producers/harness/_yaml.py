"""YAML to plain data; the only module that knows the YAML library."""

from __future__ import annotations

from typing import cast

from tachograph.core.errors import InvalidSetting

TEXT_BYTES_MAX = 256 * 1024
"""An assembly is a page of text; this is a thousand times that."""
NODES_MAX = 20_000
"""Counted with repetitions, so that a few aliases of aliases cannot unfold into gigabytes."""
DEPTH_MAX = 32


def plain_yaml(text: str) -> object:
    """Parse YAML into dicts with text keys, lists, strings, numbers, booleans and None.

    Raises:
        InvalidSetting: it is not YAML, or holds something else, or asks for too much.
    """
    if len(text.encode()) > TEXT_BYTES_MAX:
        raise InvalidSetting("assembly", text[:40], f"it is longer than {TEXT_BYTES_MAX} bytes; shorten it")
    value = _parsed(text)
    _Check().walk(value, "assembly", 0)
    return value


def _parsed(text: str) -> object:
    try:
        import yaml
    except ImportError as error:
        raise InvalidSetting(
            "assembly", "yaml", "reading it needs PyYAML; install it with `pip install 'tachograph[harness]'`"
        ) from error
    try:
        _no_doubles(yaml.compose(text, Loader=yaml.SafeLoader))
        value: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidSetting("assembly", _line_of(text, error), f"it is not YAML: {_problem(error)}") from error
    except RecursionError as error:
        raise InvalidSetting("assembly", text[:40], f"it is nested deeper than {DEPTH_MAX} levels") from error
    return value


def _line_of(text: str, error: Exception) -> str:
    number = getattr(getattr(error, "problem_mark", None), "line", None)
    lines = text.splitlines()
    return lines[number][:120] if isinstance(number, int) and number < len(lines) else text[:40]


def _problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f" in line {mark.line + 1}" if mark is not None else ""
    return f"{getattr(error, 'problem', None) or error}{place}; correct it"


def _no_doubles(node: object, seen: set[int] | None = None) -> None:
    """YAML keeps the last of two equal keys; in an assembly that hides a mistake."""
    import yaml

    seen = seen if seen is not None else set()
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _no_doubles(item, seen)
    elif isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value if isinstance(key.value, str)]
        double = next((key for key in keys if keys.count(key) > 1), None)
        if double is not None:
            line = node.start_mark.line + 1
            raise InvalidSetting("assembly", double, f"the mapping from line {line} on has this key twice; keep one")
        for _, item in node.value:
            _no_doubles(item, seen)


class _Check:
    """Walks parsed YAML and counts what it meets."""

    def __init__(self) -> None:
        self._nodes = 0

    def walk(self, value: object, path: str, depth: int) -> None:
        self._nodes += 1
        if self._nodes > NODES_MAX or depth > DEPTH_MAX:
            raise InvalidSetting(path, "…", f"more than {NODES_MAX} values or {DEPTH_MAX} levels; shorten it")
        if isinstance(value, dict):
            for key, item in cast("dict[object, object]", value).items():
                if not isinstance(key, str):
                    raise InvalidSetting(path, key, "a key must be text; put it in quotes")
                self.walk(item, f"{path}.{key}", depth + 1)
        elif isinstance(value, list):
            for index, item in enumerate(cast("list[object]", value)):
                self.walk(item, f"{path}[{index}]", depth + 1)
        elif not isinstance(value, str | int | float | bool | type(None)):
            raise InvalidSetting(path, value, "only text, numbers, true, false and null; put it in quotes")
