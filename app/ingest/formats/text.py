"""Plain text and Markdown, as they are."""

from app.ingest.formats.result import Read


def read(text: str, _source: str) -> Read:
    """The same."""
    return Read(text)
