"""Documents in: load -> split -> embed -> store. Small ones are embedded together; each is stored by itself.

Where no embedder answers, a document is kept in `pending_document` and embedded later (`app.ingest.retry`).
"""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

from app.clients.embedder import probes
from app.db import collections, documents, pending, spaces
from app.errors import Conflict, EmbedderUnavailable, EmbeddingFailed, InvalidInput, RagledgerError, UnreadableDocument
from app.ingest import compact, embed, index, load, split, store, unchanged
from app.ingest.embed import Embedded
from app.ingest.tokenized import Tokenized
from app.records import Chunk, Collection, Document, Ingested, PendingDocument, Source, Space
from app.resources import Resources

_LOG = logging.getLogger(__name__)
# of one document, so that the others go in; anything else would hit the next one too
OWN_FAULTS = (UnreadableDocument, InvalidInput, EmbeddingFailed, Conflict)
_ATTEMPTS = 50  # each waits for a writer that got through; only the database is asked again
_TOGETHER_CHARS = 16_000  # embedded at once: a small document alone leaves a core idle, or a request half empty


@dataclass(frozen=True, slots=True)
class Split:
    """A document that is to be embedded; `waited` where it waited for that."""

    source: Source
    chunks: tuple[Chunk, ...]
    waited: PendingDocument | None = None


class SupersededError(Exception):
    """What waited for an embedder was stored, replaced or deleted by another meanwhile."""


def ingest_files(files: Iterable[tuple[Path, str]], name: str, resources: Resources) -> Iterator[Ingested]:
    """Ingest files, as `load.discover` names them. A bad file is an outcome with its reason; the others go in."""
    collection: Collection | None = None
    together: list[Split | Ingested] = []
    reads = (each for path, source in files for each in load.of_file(path, source, resources.settings))
    for source, read in reads:
        try:
            if isinstance(read, UnreadableDocument):
                raise read
            if collection is None or collection.space.fingerprint is None:
                collection = open_collection(name, resources)  # not made for nothing but bad files
            together.append(_unchanged(read, collection, resources) or split_up(read, collection))
        except OWN_FAULTS as e:
            together.append(_failed(source, e))
        if sum(len(s.source.content) for s in together if isinstance(s, Split)) >= _TOGETHER_CHARS:
            yield from _written(together, collection, resources)
            together = []
    yield from _written(together, collection, resources)
    if collection:
        index.mention(collection, resources)
    compact.finish()  # the process may end here


def ingest(source: Source, name: str, resources: Resources) -> Ingested:
    """Ingest one document. The same again is `unchanged`; a changed one replaces its chunks; where no embedder
    answers it is kept, and `pending`."""
    collection = open_collection(name, resources)
    if same := _unchanged(source, collection, resources):
        return same
    document = split_up(source, collection)
    try:
        made = embed_and_write(document, collection, resources)
    except EmbedderUnavailable as e:
        return _kept(document, e, collection, resources)
    index.mention(collection, resources)
    return made


def open_collection(name: str, resources: Resources) -> Collection:
    """The collection of that name, created where it is new. Raises InvalidInput for a name that cannot be one."""
    if not name.strip() or name != name.strip() or len(name) > 200 or not name.isprintable():
        raise InvalidInput("collection", "a name has 1 to 200 printable characters and no space at its ends")
    with resources.database.write() as connection:  # it tells the position to read from, where nothing changes too
        collection = collections.find(connection, name)
    if collection is None:
        space = Space(0, resources.embedder.identity)
        with resources.database.write() as connection:
            collection = collections.ensure(connection, name, space, resources.splitting)
    with suppress(EmbedderUnavailable):
        return _fingerprinted(collection, resources)
    return collection


def _fingerprinted(collection: Collection, resources: Resources) -> Collection:
    """The collection, its space held to the first embedder that answers. Raises EmbedderUnavailable."""
    if collection.space.fingerprint is not None:
        return collection
    vectors = probes.fingerprint(resources.embedder_of(collection.space))
    with resources.database.write() as connection:
        spaces.ensure(connection, replace(collection.space, fingerprint=vectors))
        return collections.get(connection, collection.name)  # another process may have been first


def split_up(source: Source, collection: Collection, waited: PendingDocument | None = None) -> Split:
    """A document in chunks. Raises InvalidInput where it has none."""
    chunks = split.split(source.content, collection.splitting, source.media_type, source.pages)
    if not chunks:
        raise InvalidInput("content", f"{source.source} has no text that could be found")
    return Split(source, chunks, waited)


def embed_and_write(document: Split, collection: Collection, resources: Resources) -> Ingested:
    """Embed one document and store it. Raises EmbedderUnavailable, EmbeddingFailed, SupersededError, Conflict."""
    [embedded] = _embedded([document], collection, resources)
    return _write(document, embedded, collection, resources)


def _written(
    together: Sequence[Split | Ingested], collection: Collection | None, resources: Resources
) -> Iterator[Ingested]:
    """Embed documents together and store them one by one. Yields the outcomes of all, in order."""
    group = [document for document in together if isinstance(document, Split)]
    embedded: Iterator[Embedded | EmbedderUnavailable | None] = iter(())
    if collection and group:
        try:
            embedded = iter(_embedded(group, collection, resources))
        except EmbedderUnavailable as e:
            embedded = repeat(e)
        except EmbeddingFailed:  # of one of them; which, is seen when each is embedded alone
            embedded = repeat(None)
    for document in together:
        if isinstance(document, Split) and collection:
            yield _outcome(document, next(embedded), collection, resources)
        elif isinstance(document, Ingested):
            yield document


def _outcome(
    document: Split, embedded: Embedded | EmbedderUnavailable | None, collection: Collection, resources: Resources
) -> Ingested:
    try:
        if isinstance(embedded, EmbedderUnavailable):
            return _kept(document, embedded, collection, resources)
        if embedded is None:
            return embed_and_write(document, collection, resources)
        return _write(document, embedded, collection, resources)
    except EmbedderUnavailable as e:
        return _kept(document, e, collection, resources)
    except OWN_FAULTS as e:
        return _failed(document.source.source, e)


def _embedded(group: Sequence[Split], collection: Collection, resources: Resources) -> list[Embedded]:
    """The vectors of each document. A space without a fingerprint gets it now: until then any model could answer."""
    known = _fingerprinted(collection, resources)
    return embed.embed([document.chunks for document in group], known, resources)


def _write(document: Split, embedded: Embedded, collection: Collection, resources: Resources) -> Ingested:
    started = time.perf_counter()
    tokenized = Tokenized()
    source, waited = document.source, document.waited
    for _ in range(_ATTEMPTS):
        with resources.database.read() as connection:
            known = documents.find(connection, collection.id, source.source)
            now = collections.current(connection, collection)
            if waited and pending.source_of(connection, collection.id, waited) is None:
                raise SupersededError
        if same := unchanged.outcome(source, known, now, resources, waited):
            return same
        if now.space.id != collection.space.id:
            [embedded] = _embedded([document], now, resources)
        collection = now
        try:
            stored = store.write(source, embedded, tokenized, known, collection, resources, waited)
        except Conflict:
            continue  # another writer was first: look again at what is there now
        compact.tidy(collection.id, resources)
        _LOG.info("ingest.done document=%s chunks=%s ms=%.0f", stored.id, len(embedded.chunks), _ms(started))
        return Ingested(
            source=source.source,
            outcome="updated" if known else "added",
            document_id=stored.id,
            version=stored.version,
            chunks=len(embedded.chunks),
            chunks_reused=embedded.reused,
            warnings=source.warnings + _twin(stored, collection, resources),
        )
    raise Conflict(f"{source.source} kept changing under {_ATTEMPTS} attempts to write it")


def _twin(stored: Document, collection: Collection, resources: Resources) -> tuple[str, ...]:
    with resources.database.read() as connection:
        twin = documents.twin(connection, collection.id, stored.id)
    return (f"has the same content as {twin}",) if twin else ()


def _unchanged(source: Source, collection: Collection, resources: Resources) -> Ingested | None:
    with resources.database.read() as connection:
        known = documents.find(connection, collection.id, source.source)
    return unchanged.outcome(source, known, collection, resources)


def _kept(document: Split, error: EmbedderUnavailable, collection: Collection, resources: Resources) -> Ingested:
    """Let a document wait until an embedder answers. What is stored of its source stays as it is."""
    with resources.database.write() as connection:
        collections.hold(connection, collection.id)
        pending.keep(connection, collection.id, document.source, error)
    _LOG.warning("ingest.pending collection=%s error=%s", collection.id, type(error).__name__)
    return Ingested(document.source.source, "pending", reason=str(error), warnings=document.source.warnings)


def _failed(source: str, error: RagledgerError) -> Ingested:
    _LOG.info("ingest.failed error=%s", type(error).__name__)
    return Ingested(source, "failed", reason=str(error))


def _ms(started: float) -> float:
    return (time.perf_counter() - started) * 1000
