"""Comma-separated values and their like: each row a record with its header."""

import csv
import io

from app.errors import UnreadableDocument
from app.ingest.formats.result import Read
from app.ingest.formats.tables import records

_DELIMITERS = ",;\t|"
_SAMPLE_CHARS = 20_000
_CELL_CHARS = 10_000_000


def read(text: str, source: str) -> Read:
    """The delimiter is the one of `,;|` and tab that the first lines agree on. Raises UnreadableDocument."""
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text[:_SAMPLE_CHARS], _DELIMITERS)
    except csv.Error:  # one column has no delimiter
        dialect = csv.excel_tab if source.lower().endswith(".tsv") else csv.excel
    csv.field_size_limit(_CELL_CHARS)
    reader = csv.reader(io.StringIO(text, newline=""), dialect)
    try:
        return Read("\n".join(records(reader)))
    except csv.Error as e:
        raise UnreadableDocument(f"{source}:{reader.line_num}: {e}") from e
