"""Documents and their chunks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, LiteralString, cast

from psycopg.types.json import Jsonb

from app.db import collections, wire
from app.db.pool import Db
from app.db.sql import statement
from app.errors import NotFound
from app.records import Chunk, Document, DocumentState, Label, Source, Span, Splitting


@dataclass(frozen=True, slots=True)
class Stored:
    """What decides whether a source is unchanged. `awaited`: another version of it waits for an embedder."""

    id: int
    version: int
    content_sha256: str
    splitting: Mapping[str, Any]
    title: str
    media_type: str
    metadata: Mapping[str, Any]
    awaited: bool


@dataclass(frozen=True, slots=True)
class ChunkDetail:
    """A chunk with what a reader needs to find it again."""

    id: int
    document_id: int
    source: str
    title: str
    section: str
    start_char: int
    end_char: int
    text: str
    text_sha256: str
    page: int | None = None
    line: int | None = None


def find(connection: Db, collection_id: int, source: str) -> Stored | None:
    """The document of a source, or None."""
    values = {"collection_id": collection_id, "source": source}
    row = connection.execute(statement("documents", "find"), values).fetchone()
    return Stored(*row) if row else None


def twin(connection: Db, collection_id: int, document_id: int) -> str | None:
    """The source of another document of the same content, or None."""
    values = {"collection_id": collection_id, "document_id": document_id}
    row = connection.execute(statement("documents", "twin"), values).fetchone()
    return cast(tuple[str], row)[0] if row else None


def sources(connection: Db, collection_id: int) -> dict[str, int]:
    """The document id of each source of a collection."""
    rows = connection.execute(statement("documents", "sources"), {"collection_id": collection_id})
    return {source: document_id for document_id, source in rows}


def lock(connection: Db, collection_id: int, source: str) -> tuple[int, int, DocumentState] | None:
    """(id, version, state) of a source's document, locked until the transaction ends, or None."""
    values = {"collection_id": collection_id, "source": source}
    row = connection.execute(statement("documents", "lock"), values).fetchone()
    return cast("tuple[int, int, DocumentState] | None", row)


def insert(connection: Db, collection_id: int, source: Source, content_sha256: str, splitting: Splitting) -> int:
    """Insert a document. Returns its id."""
    return insert_all(connection, collection_id, [(source, content_sha256)], splitting)[0]


def insert_all(
    connection: Db, collection_id: int, sources: Sequence[tuple[Source, str]], splitting: Splitting
) -> list[int]:
    """Insert documents, given with the sha-256 of their content. Returns their ids in the order given."""
    values = [
        _columns(source, digest, splitting) | {"collection_id": collection_id, "source": source.source}
        for source, digest in sources
    ]
    ids: list[int] = []
    with connection.cursor() as cursor:
        cursor.executemany(statement("documents", "insert"), values, returning=True)
        while len(ids) < len(values):
            ids.append(cast(tuple[int], cursor.fetchone())[0])
            cursor.nextset()
    return ids


def update(
    connection: Db, collection_id: int, document_id: int, source: Source, content_sha256: str, splitting: Splitting
) -> None:
    """Replace a document and count its version up."""
    values = _columns(source, content_sha256, splitting)
    values |= {"collection_id": collection_id, "document_id": document_id}
    connection.execute(statement("documents", "update"), values)


def get(connection: Db, document_id: int) -> Document:
    """A document. Raises NotFound."""
    row = connection.execute(statement("documents", "get"), {"document_id": document_id}).fetchone()
    if row is None:
        raise NotFound(f"no document has the id {document_id}")
    return Document(*row)


def listed(connection: Db, collection_id: int, *, after: int, limit: int) -> list[Document]:
    """A page of a collection's documents by id, after the given one."""
    values = {"collection_id": collection_id, "after": after, "limit": limit}
    return [Document(*row) for row in connection.execute(statement("documents", "list"), values)]


def lock_by_id(connection: Db, document_id: int) -> tuple[int, DocumentState, int]:
    """(collection id, state, version) of a document, locked until the transaction ends, its collection held.

    Raises NotFound.
    """
    values = {"document_id": document_id}
    if found := connection.execute(statement("documents", "collection_of"), values).fetchone():
        collections.hold(connection, found[0])
        values["collection_id"] = found[0]
        if row := connection.execute(statement("documents", "lock_by_id"), values).fetchone():
            return found[0], row[0], row[1]
    raise NotFound(f"no document has the id {document_id}")


def set_state(connection: Db, collection_id: int, document_id: int, state: DocumentState) -> None:
    """Write a document's state. What follows from it (tombstones, postings, revision) is the caller's."""
    values = {"collection_id": collection_id, "document_id": document_id, "state": state}
    connection.execute(statement("documents", "set_state"), values)


def delete(connection: Db, collection_id: int, document_id: int) -> None:
    """Delete a document with its chunks, spans and vectors."""
    connection.execute(statement("documents", "delete"), {"collection_id": collection_id, "document_id": document_id})


def stored_chunks(connection: Db, collection_id: int, document_id: int) -> list[tuple[int, str, tuple[Span, ...]]]:
    """(chunk id, sha-256 of its text, spans) of a document, in order."""
    values = {"collection_id": collection_id, "document_id": document_id}
    rows = connection.execute(statement("chunks", "of_document"), values)
    return [(row[0], row[1], tuple(Span(start, end) for start, end in row[2] or ())) for row in rows]


def chunk_ids(connection: Db, collection_id: int, document_id: int) -> list[int]:
    """The ids of a document's chunks."""
    values = {"collection_id": collection_id, "document_id": document_id}
    return [row[0] for row in connection.execute(statement("chunks", "ids"), values)]


def chunk_texts(connection: Db, collection_id: int, document_id: int) -> dict[int, str]:
    """The texts of a document's chunks, by id."""
    values = {"collection_id": collection_id, "document_id": document_id}
    return {row[0]: row[1] for row in connection.execute(statement("chunks", "texts"), values)}


def texts_of(connection: Db, collection_id: int, chunk_ids: Sequence[int]) -> dict[int, str]:
    """The texts of given chunks, by id; those that are gone are left out."""
    values = {"collection_id": collection_id, "chunk_ids": list(chunk_ids)}
    return {row[0]: row[1] for row in connection.execute(statement("chunks", "texts_of"), values)}


def chunk_page(connection: Db, document_id: int, *, after: int, limit: int) -> list[tuple[int, Chunk]]:
    """(id, chunk) of a page of a document's chunks, after the given ordinal. Spans are left out."""
    values = {"document_id": document_id, "after": after, "limit": limit}
    rows = connection.execute(statement("chunks", "page"), values)
    return [(row[0], Chunk(row[1], row[2], row[3], row[4], row[5], page=row[6], line=row[7])) for row in rows]


def delete_chunks(connection: Db, collection_id: int, chunk_ids: Sequence[int]) -> None:
    """Delete chunks with their spans and vectors."""
    values = {"collection_id": collection_id, "chunk_ids": list(chunk_ids)}
    connection.execute(statement("chunks", "delete"), values)


def move_chunks(connection: Db, collection_id: int, moved: Mapping[int, Chunk]) -> None:
    """Give chunks of unchanged text their new place."""
    values = {"collection_id": collection_id, "chunk_ids": list(moved)} | _places(list(moved.values()))
    connection.execute(statement("chunks", "move"), values)


def insert_chunks(
    connection: Db, collection_id: int, document_ids: Sequence[int], chunks: Sequence[Chunk], hashes: Sequence[str]
) -> list[int]:
    """Insert chunks with their spans, each into its document. Returns their ids in the order given."""
    ids = [row[0] for row in connection.execute(statement("chunks", "reserve"), {"count": len(chunks)}).fetchall()]
    places = ((c.ordinal, c.start_char, c.end_char, c.text, c.section, c.page, c.line) for c in chunks)
    rows = zip(ids, document_ids, places, hashes, strict=True)
    _copy(
        connection,
        statement("chunks", "copy"),
        ("int8", "int8", "int8", "int4", "int4", "int4", "text", "text", "int4", "int4", "text"),
        ((collection_id, i, document_id, *place, digest) for i, document_id, place, digest in rows),
    )
    spans = [(i, n, span) for i, chunk in zip(ids, chunks, strict=True) for n, span in enumerate(chunk.spans)]
    if spans:
        _copy(
            connection,
            statement("chunks", "copy_spans"),
            ("int8", "int8", "int4", "int4", "int4"),
            ((collection_id, i, n, span.start_char, span.end_char) for i, n, span in spans),
        )
    return ids


def _copy(connection: Db, text: LiteralString, types: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with connection.cursor() as cursor, cursor.copy(text) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def details(connection: Db, collection_id: int, chunk_ids: Sequence[int]) -> dict[int, ChunkDetail]:
    """Chunks with their document's names, by id."""
    values = {"collection_id": collection_id, "chunk_ids": wire.Bigints(chunk_ids)}
    return {row[0]: ChunkDetail(*row) for row in connection.execute(statement("chunks", "details"), values).fetchall()}


def labels(connection: Db, collection_id: int, chunk_ids: Sequence[int]) -> dict[int, Label]:
    """What the ledger keeps of chunks, by id."""
    values = {"collection_id": collection_id, "chunk_ids": wire.Bigints(chunk_ids)}
    return {row[0]: Label(*row[1:]) for row in connection.execute(statement("chunks", "labels"), values).fetchall()}


def _places(chunks: Sequence[Chunk]) -> dict[str, list[Any]]:
    return {
        "ordinals": [chunk.ordinal for chunk in chunks],
        "starts": [chunk.start_char for chunk in chunks],
        "ends": [chunk.end_char for chunk in chunks],
        "sections": [chunk.section for chunk in chunks],
        "pages": [chunk.page for chunk in chunks],
        "lines": [chunk.line for chunk in chunks],
    }


def _columns(source: Source, content_sha256: str, splitting: Splitting) -> dict[str, Any]:
    return {
        "title": source.title,
        "media_type": source.media_type,
        "content": source.content,
        "characters": len(source.content),
        "content_sha256": content_sha256,
        "splitting": Jsonb(asdict(splitting)),
        "metadata": Jsonb(dict(source.metadata)),
    }
