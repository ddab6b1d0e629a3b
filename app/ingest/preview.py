"""What ingesting files would do, and into which chunks they would be split. Nothing is embedded or written."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from app.db import collections, documents
from app.ingest import load, split, unchanged
from app.ingest.pipeline import OWN_FAULTS
from app.records import Chunk, Ingested
from app.resources import Resources


class Preview(NamedTuple):
    """The outcome that a file would have, without ids, and its chunks; none where it is unchanged or would fail."""

    outcome: Ingested
    chunks: tuple[Chunk, ...] = ()


def preview(files: Iterable[tuple[Path, str]], name: str, resources: Resources) -> Iterator[Preview]:
    """Each file, as `discover` names them, split as the collection is, or as a new one would be."""
    for path, source in files:
        try:
            yield _preview(path, source, name, resources)
        except OWN_FAULTS as e:
            yield Preview(Ingested(source, "failed", reason=str(e)))


def _preview(path: Path, source: str, name: str, resources: Resources) -> Preview:
    read = load.read(path, source, resources.settings.document_max_bytes)
    with resources.database.read() as connection:
        collection = collections.find(connection, name)
        known = documents.find(connection, collection.id, source) if collection else None
    if collection and known and unchanged.is_same(read, known, collection):
        return Preview(Ingested(source, "unchanged", known.id, known.version, warnings=read.warnings))
    splitting = collection.splitting if collection else resources.splitting
    chunks = split.split(read.content, splitting, read.media_type, read.pages)
    outcome = Ingested(source, "updated" if known else "added", chunks=len(chunks), warnings=read.warnings)
    return Preview(outcome, chunks)
