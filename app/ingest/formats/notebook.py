"""Jupyter notebooks as Markdown: texts as they are, code in fences. What code printed is left out."""

import json
from typing import Any

from app.errors import UnreadableDocument
from app.ingest.formats.result import Read

_FENCE = "```"


def read(text: str, source: str) -> Read:
    """Format 4, and 3 with its worksheets. Raises UnreadableDocument."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise UnreadableDocument(f"{source}: is no notebook: not JSON") from e
    cells = _cells(notebook)
    if cells is None:
        raise UnreadableDocument(f"{source}: is no notebook: it has no cells")
    metadata = notebook.get("metadata")
    language = _at(_at(metadata, "kernelspec"), "language") or _at(_at(metadata, "language_info"), "name") or "python"
    return Read("\n\n".join(part for cell in cells if (part := _part(cell, str(language)))))


def _cells(notebook: Any) -> list[Any] | None:
    cells = _at(notebook, "cells")
    if cells is None and isinstance(sheets := _at(notebook, "worksheets"), list):
        cells = [cell for sheet in sheets for cell in _at(sheet, "cells") or []]
    return cells if isinstance(cells, list) else None


def _part(cell: Any, language: str) -> str:
    kind, text = _at(cell, "cell_type"), _at(cell, "source") or _at(cell, "input") or ""
    text = "".join(map(str, text)) if isinstance(text, list) else str(text)
    if not text.strip():
        return ""
    if kind == "heading":
        return f"{'#' * int(_at(cell, 'level') or 1)} {text.strip()}"
    if kind != "code":
        return text.strip()
    fence = _FENCE
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _at(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
