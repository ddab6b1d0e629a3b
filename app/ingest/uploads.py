"""Documents that arrive as text or bytes under a name, not as files of this machine."""

import logging
from collections.abc import Sequence

from app.errors import InvalidInput, UnreadableDocument
from app.ingest import load
from app.ingest.pipeline import OWN_FAULTS, ingest
from app.records import Ingested, Source
from app.resources import Resources

_LOG = logging.getLogger(__name__)


def ingest_text(source: Source, name: str, resources: Resources) -> Ingested:
    """Ingest a text as the caller named it. Raises InvalidInput, UnreadableDocument."""
    limit = resources.settings.document_max_bytes
    if (size := len(source.content.encode())) > limit:
        raise InvalidInput("text", f"has {size} bytes in UTF-8, the limit is {limit}")
    title = source.title or None
    read = load.from_text(source.source, source.content, title, source.media_type, source.metadata)
    return ingest(read, name, resources)


def ingest_files(files: Sequence[tuple[str, bytes]], name: str, resources: Resources) -> list[Ingested]:
    """Ingest (source, content) pairs into a collection, archives as their members.

    A bad one is an outcome with its reason; the others go in.
    """
    reads = (each for source, content in files for each in load.documents(source, content, resources.settings))
    return [_guarded(source, read, name, resources) for source, read in reads]


def _guarded(source: str, read: Source | UnreadableDocument, name: str, resources: Resources) -> Ingested:
    try:
        if isinstance(read, UnreadableDocument):
            raise read
        return ingest(read, name, resources)
    except OWN_FAULTS as e:
        _LOG.warning("ingest.failed error=%s", type(e).__name__)
        return Ingested(source, "failed", reason=str(e))
