"""JSON: a list, or lines, of objects are records; anything else is told line by line as `path: value`."""

import json
from collections.abc import Iterator

from app.errors import UnreadableDocument
from app.ingest.formats.result import Read
from app.ingest.formats.tables import record

_DEPTH = 50


def read(text: str, source: str) -> Read:
    """One JSON value. Raises UnreadableDocument with the line."""
    value = _parsed(text, source, 0)
    return Read("\n".join(_records(value) if isinstance(value, list) else _lines(value)))


def read_lines(text: str, source: str) -> Read:
    """A JSON value a line. Raises UnreadableDocument with the line."""
    lines = text.split("\n")
    return Read("\n".join(_records([_parsed(line, source, n) for n, line in enumerate(lines) if line.strip()])))


def _parsed(text: str, source: str, before: int) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        raise UnreadableDocument(f"{source}:{before + e.lineno}: is not JSON: {e.msg}") from e
    except (ValueError, RecursionError) as e:
        raise UnreadableDocument(f"{source}: is not JSON that can be read: {e}") from e


def _records(values: list[object]) -> Iterator[str]:
    for value in values:
        if (line := record(_pairs(value, "", 0))) != "- ":
            yield line


def _lines(value: object) -> Iterator[str]:
    for path, text in _pairs(value, "", 0):
        yield f"- {path}: {text}" if path else text


def _pairs(value: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """The values that are no containers, with the path of keys to them. A list of plain values is one."""
    if depth > _DEPTH:
        yield path, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _pairs(item, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for item in value:
            yield from _pairs(item, path, depth + 1)
    elif isinstance(value, list):
        yield path, ", ".join(map(_shown, value))
    elif value is not None:
        yield path, _shown(value)


def _shown(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)
