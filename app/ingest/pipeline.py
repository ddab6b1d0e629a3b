"""Documents in: load -> split -> embed -> store, one document at a time."""

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from app.clients.embedder import probes
from app.db import collections, documents, spaces
from app.db.documents import Stored
from app.errors import Conflict, EmbedderUnavailable, EmbeddingFailed, InvalidInput, UnreadableDocument
from app.ingest import compact, embed, index, load, split, store
from app.ingest.embed import Embedded, text_hash
from app.ingest.tokenized import Tokenized
from app.records import Collection, Ingested, Source, Space
from app.resources import Resources

_LOG = logging.getLogger(__name__)
# of one document, so that the others go in; anything else would hit the next one too
OWN_FAULTS = (UnreadableDocument, InvalidInput, EmbeddingFailed, Conflict)
_ATTEMPTS = 50  # each waits for a writer that got through; only the database is asked again


def ingest_files(files: Iterable[tuple[Path, str]], name: str, resources: Resources) -> Iterator[Ingested]:
    """Ingest files, as `load.discover` names them. A bad file is an outcome with its reason; the others go in."""
    collection: Collection | None = None
    for path, source in files:
        try:
            read = load.read(path, source, resources.settings.document_max_bytes)
            collection = collection or open_collection(name, resources)  # not made for nothing but bad files
            yield _ingest(read, collection, resources)
        except OWN_FAULTS as e:
            _LOG.info("ingest.failed error=%s", type(e).__name__)
            yield Ingested(source, "failed", reason=str(e))
    if collection:
        index.mention(collection, resources)
    compact.finish()  # the process may end here


def ingest(source: Source, name: str, resources: Resources) -> Ingested:
    """Ingest one document. The same again is `unchanged`; a changed one replaces its chunks."""
    collection = open_collection(name, resources)
    made = _ingest(source, collection, resources)
    if made.outcome != "unchanged":
        index.mention(collection, resources)
    return made


def open_collection(name: str, resources: Resources) -> Collection:
    """The collection of that name, created where it is new. Raises InvalidInput for a name that cannot be one."""
    if not name.strip() or name != name.strip() or len(name) > 200 or not name.isprintable():
        raise InvalidInput("collection", "a name has 1 to 200 printable characters and no space at its ends")
    with resources.database.read() as connection:
        collection = collections.find(connection, name)
    if collection and collection.space.fingerprint is not None:
        return collection
    space = _with_fingerprint(collection.space if collection else Space(0, resources.embedder.identity), resources)
    with resources.database.write() as connection:
        if collection is None:
            return collections.ensure(connection, name, space, resources.splitting)
        spaces.ensure(connection, space)
        return collections.get(connection, name)


def _with_fingerprint(space: Space, resources: Resources) -> Space:
    """Without an embedder the space goes without until one answers."""
    try:
        return replace(space, fingerprint=probes.fingerprint(resources.embedder_of(space)))
    except EmbedderUnavailable:
        return space


def _ingest(source: Source, collection: Collection, resources: Resources) -> Ingested:
    started = time.perf_counter()
    embedded: Embedded | None = None
    tokenized = Tokenized()
    for _ in range(_ATTEMPTS):
        with resources.database.read() as connection:
            known = documents.find(connection, collection.id, source.source)
            now = collections.current(connection, collection)
        if now.space.id != collection.space.id:
            embedded = None
        collection = now
        if known and _unchanged(source, known, collection):
            return Ingested(source.source, "unchanged", known.id, known.version)
        embedded = embedded or _embedded(source, collection, resources)
        try:
            document = store.write(source, embedded, tokenized, known, collection, resources)
        except Conflict:
            continue  # another writer was first: look again at what is there now
        compact.tidy(collection.id, resources)
        _LOG.info("ingest.done document=%s chunks=%s ms=%.0f", document.id, len(embedded.chunks), _ms(started))
        return Ingested(
            source=source.source,
            outcome="updated" if known else "added",
            document_id=document.id,
            version=document.version,
            chunks=len(embedded.chunks),
            chunks_reused=embedded.reused,
        )
    raise Conflict(f"{source.source} kept changing under {_ATTEMPTS} attempts to write it")


def _embedded(source: Source, collection: Collection, resources: Resources) -> Embedded:
    chunks = split.split(source.content, collection.splitting, source.media_type)
    if not chunks:
        raise InvalidInput("content", f"{source.source} has no text that could be found")
    return embed.embed(chunks, collection, resources)


def _unchanged(source: Source, known: Stored, collection: Collection) -> bool:
    return (
        known.content_sha256 == text_hash(source.content)
        and known.splitting == asdict(collection.splitting)
        and (known.title, known.media_type) == (source.title, source.media_type)
        and _as_json(known.metadata) == _as_json(source.metadata)
    )


def _as_json(metadata: Mapping[str, Any]) -> Any:
    """As jsonb tells it again: 1e308 comes back as an integer."""
    return json.loads(json.dumps(dict(metadata)), parse_int=float)


def _ms(started: float) -> float:
    return (time.perf_counter() - started) * 1000
