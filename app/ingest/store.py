"""Write one document in one transaction: all of it is found by both recalls at the commit, or none of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.db import collections, documents, lexicon, pending, postings, vectors, versions
from app.db.documents import Stored
from app.db.pool import Db
from app.errors import Conflict
from app.ingest import compact
from app.ingest.embed import Embedded, text_hash
from app.ingest.tokenized import Tokenized
from app.ingest.unchanged import differing
from app.lexical.tokens import tokenizer
from app.records import Chunk, Collection, Document, DocumentState, PendingDocument, Source, Span
from app.resources import Resources

_ATTEMPTS = 50  # each waits for a writer that got through


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of a document's chunks: `kept` (chunk id -> its new place), `gone` ids, `new` indices."""

    kept: Mapping[int, Chunk]
    gone: tuple[int, ...]
    new: tuple[int, ...]


def write(
    source: Source,
    embedded: Embedded,
    tokenized: Tokenized,
    known: Stored | None,
    collection: Collection,
    res: Resources,
    waited: PendingDocument | None = None,
) -> Document:
    """Insert a document or replace it; a version of it that waits for an embedder goes, or is the one that `waited`.

    Raises Conflict where it, what waited or its collection's model or words changed since they were read.
    """
    plan = _planned(embedded, known, collection, res)
    tokenized.prepare((embedded.chunks[n].text for n in plan.new), collection.words)
    with res.database.write() as connection:
        collections.hold(connection, collection.id)
        collections.require_space(connection, collection)  # its partition may be gone; below is what can be relied on
        document_id, state = _write_document(connection, source, known, collection)
        _end_waiting(connection, source, waited, collection)
        ids = _write_chunks(connection, embedded, plan, document_id, collection)
        if keep := res.settings.document_versions:
            versions.record(
                connection,
                collection.id,
                document_id,
                chunks=len(embedded.chunks),
                added=ids,
                removed=plan.gone,
                changed=differing(source, known, collection) if known else (),
            )
            versions.trim(connection, collection.id, document_id, keep)
        documents.delete_chunks(connection, collection.id, plan.gone)
        documents.move_chunks(connection, collection.id, plan.kept)
        if ids and state == "active":
            fresh = {i: embedded.chunks[n].text for i, n in zip(ids, plan.new, strict=True)}
            _index(connection, collection.id, tokenized, fresh)
        collections.bump(connection, collection.id)
        collections.require_space(connection, collection)
        lexicon.require(connection, collection.id, collection.words)
        postings.bury(connection, collection.id, plan.gone)
        return documents.get(connection, document_id)


def set_state(document_id: int, state: DocumentState, res: Resources) -> Document:
    """Disable a document (it leaves both recalls at the commit) or enable it again. Raises NotFound."""
    tokenized = Tokenized()
    for _ in range(_ATTEMPTS):
        try:
            collection_id, document = _set_state(document_id, state, tokenized, res)
        except Conflict:
            continue
        compact.tidy(collection_id, res)
        return document
    raise Conflict(f"document {document_id} kept changing under {_ATTEMPTS} attempts to set its state")


def _set_state(document_id: int, state: DocumentState, tokenized: Tokenized, res: Resources) -> tuple[int, Document]:
    prepared = _prepared(document_id, tokenized, res) if state == "active" else None
    with res.database.write() as connection:
        collection_id, now, version = documents.lock_by_id(connection, document_id)
        if now != state:
            documents.set_state(connection, collection_id, document_id, state)
            if state == "active":
                if prepared is None or prepared[0] != version:
                    raise Conflict(f"document {document_id} was changed by another writer")
                _index(connection, collection_id, tokenized, prepared[1])
            collections.bump(connection, collection_id)
            if state == "active":
                lexicon.require(connection, collection_id, tokenized.words)
            else:
                chunk_ids = documents.chunk_ids(connection, collection_id, document_id)
                postings.bury(connection, collection_id, chunk_ids)
        return collection_id, documents.get(connection, document_id)


def _prepared(document_id: int, tokenized: Tokenized, res: Resources) -> tuple[int, Mapping[int, str]] | None:
    """Make the tokens of a document that is to be enabled. Returns its version and texts then, None where it is."""
    with res.database.read() as connection:
        document = documents.get(connection, document_id)
        if document.state == "active":
            return None
        collection = collections.get(connection, document.collection)
        texts = documents.chunk_texts(connection, collection.id, document_id)
    tokenized.prepare(texts.values(), collection.words)
    return document.version, texts


def delete(document_id: int, res: Resources) -> None:
    """Delete a document, and what waits to replace it; it leaves both recalls, QA and cached answers at the commit.

    Raises NotFound.
    """
    with res.database.write() as connection:
        collection_id, *_ = documents.lock_by_id(connection, document_id)
        chunk_ids = documents.chunk_ids(connection, collection_id, document_id)
        pending.forget_with(connection, collection_id, document_id)
        documents.delete(connection, collection_id, document_id)
        collections.bump(connection, collection_id)
        postings.bury(connection, collection_id, chunk_ids)
    compact.tidy(collection_id, res)


def _write_document(
    connection: Db, source: Source, known: Stored | None, collection: Collection
) -> tuple[int, DocumentState]:
    """The document's id and its state now, which may have changed since `known` was read."""
    locked = documents.lock(connection, collection.id, source.source)
    if (locked and locked[:2]) != (known and (known.id, known.version)):
        raise Conflict(f"{source.source} was changed by another writer")
    digest = text_hash(source.content)
    if locked is None:
        return documents.insert(connection, collection.id, source, digest, collection.splitting), "active"
    documents.update(connection, collection.id, locked[0], source, digest, collection.splitting)
    return locked[0], locked[2]


def _end_waiting(connection: Db, source: Source, waited: PendingDocument | None, collection: Collection) -> None:
    if waited is None:
        pending.forget(connection, collection.id, source.source)
    elif not pending.take(connection, collection.id, waited):
        raise Conflict(f"{source.source} was stored, replaced or deleted while it waited")


def _index(connection: Db, collection_id: int, tokenized: Tokenized, texts: Mapping[int, str]) -> None:
    postings.add(connection, collection_id, tokenized.segment(texts), tokenizer(tokenized.words))


def _planned(embedded: Embedded, known: Stored | None, collection: Collection, res: Resources) -> Plan:
    """The plan by the chunks of the version that `known` is; where it is another by now, the write is refused."""
    if known is None:
        return _plan((), embedded)
    with res.database.read() as connection:
        return _plan(documents.stored_chunks(connection, collection.id, known.id), embedded)


def _plan(old: Iterable[tuple[int, str, tuple[Span, ...]]], embedded: Embedded) -> Plan:
    """Pair new chunks with old ones of equal text and spans, each old one at most once."""
    free: dict[tuple[str, tuple[Span, ...]], list[int]] = {}
    for chunk_id, digest, spans in old:
        free.setdefault((digest, spans), []).append(chunk_id)
    kept: dict[int, Chunk] = {}
    new = []
    for n, (chunk, digest) in enumerate(zip(embedded.chunks, embedded.hashes, strict=True)):
        if same := free.get((digest, chunk.spans)):
            kept[same.pop(0)] = chunk
        else:
            new.append(n)
    return Plan(kept, tuple(i for ids in free.values() for i in ids), tuple(new))


def _write_chunks(
    connection: Db, embedded: Embedded, plan: Plan, document_id: int, collection: Collection
) -> list[int]:
    chunks = [embedded.chunks[n] for n in plan.new]
    hashes = [embedded.hashes[n] for n in plan.new]
    ids = documents.insert_chunks(connection, collection.id, [document_id] * len(chunks), chunks, hashes)
    vectors.add(connection, collection, ids, [embedded.vectors[n] for n in plan.new])
    spans = [(i, ordinal) for i, chunk in zip(ids, chunks, strict=True) for ordinal in range(len(chunk.spans))]
    vectors.add_spans(connection, collection, spans, [vector for n in plan.new for vector in embedded.span_vectors[n]])
    return ids
