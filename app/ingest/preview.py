"""What ingesting files would do, and into which chunks they would be split. Nothing is embedded or written."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from app.db import collections, documents
from app.errors import UnreadableDocument
from app.ingest import load, split, unchanged
from app.ingest.pipeline import OWN_FAULTS
from app.records import Chunk, Ingested, Source
from app.resources import Resources


class Preview(NamedTuple):
    """The outcome that a file would have, without ids, and its chunks; none where it is unchanged or would fail."""

    outcome: Ingested
    chunks: tuple[Chunk, ...] = ()


def preview(files: Iterable[tuple[Path, str]], name: str, resources: Resources) -> Iterator[Preview]:
    """Each file, as `discover` names them, split as the collection is, or as a new one would be."""
    reads = (each for path, source in files for each in load.of_file(path, source, resources.settings))
    for source, read in reads:
        try:
            if isinstance(read, UnreadableDocument):
                raise read
            yield _preview(read, name, resources)
        except OWN_FAULTS as e:
            yield Preview(Ingested(source, "failed", reason=str(e)))


def _preview(read: Source, name: str, resources: Resources) -> Preview:
    with resources.database.read() as connection:
        collection = collections.find(connection, name)
        known = documents.find(connection, collection.id, read.source) if collection else None
    if collection and known and unchanged.is_same(read, known, collection):
        return Preview(Ingested(read.source, "unchanged", known.id, known.version, warnings=read.warnings))
    splitting = collection.splitting if collection else resources.splitting
    chunks = split.split(read.content, splitting, read.media_type, read.pages)
    outcome = Ingested(read.source, "updated" if known else "added", chunks=len(chunks), warnings=read.warnings)
    return Preview(outcome, chunks)
