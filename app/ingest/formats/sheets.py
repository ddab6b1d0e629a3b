"""Spreadsheets: each sheet a heading, each row a record with its header. Library: python-calamine (MIT)."""

import io
from datetime import date, datetime, time
from pathlib import PurePosixPath

from python_calamine import CalamineError, CalamineWorkbook

from app.errors import UnreadableDocument
from app.ingest.formats.packed import opened
from app.ingest.formats.parts import core_title
from app.ingest.formats.result import Read
from app.ingest.formats.tables import records

_ZIP = b"PK\x03\x04"


def read(raw: bytes, source: str) -> Read:
    """Values as they are shown without a format: 3 for 3.0, dates as in ISO 8601. Raises UnreadableDocument."""
    title = ""
    if raw.startswith(_ZIP):
        with opened(raw, source) as package:
            title = core_title(package)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(raw))
        sheets = [(name, book.get_sheet_by_name(name).to_python()) for name in book.sheet_names]
    except (CalamineError, ValueError, OSError) as e:
        raise UnreadableDocument(f"{source}: is a spreadsheet that cannot be read: {e}") from e
    parts = [
        "\n\n".join([f"## {name}", "\n".join(lines)])
        for name, rows in sheets
        if (lines := list(records([_shown(value) for value in row] for row in rows)))
    ]
    return Read("\n\n".join(parts), title or PurePosixPath(source).stem)


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | time | datetime):
        return value.isoformat()
    return str(value)
