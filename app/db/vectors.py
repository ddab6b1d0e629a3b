"""Vectors of chunks and spans: written by COPY, compared by PostgreSQL. Distances never leave SQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, cast

import numpy as np
from psycopg import Cursor
from psycopg.rows import TupleRow

from app.db import filters, spaces, wire
from app.db.pool import Db
from app.db.sql import statement
from app.records import Collection, Filters, Floats, Ints, SpanScore, Vector

EF_SEARCH_MAX = 1_000  # pgvector's own limit
Scored = tuple[Ints, Floats]  # chunk ids and their cosines


@dataclass(frozen=True, slots=True)
class IndexScan:
    """How an HNSW index is read. `max_scan_tuples`: after so many the scan gives up, with fewer rows than asked for."""

    indexed_type: str
    ef_search: int
    max_scan_tuples: int


def known_chunks(connection: Db, collection: Collection, hashes: Sequence[str]) -> dict[str, int]:
    """For texts (by sha-256) that already have a vector in the collection: a chunk that carries it."""
    rows = connection.execute(statement("vectors", "known_chunks"), _scope(collection) | {"hashes": list(hashes)})
    return {row[0]: row[1] for row in rows}


def of_chunks(connection: Db, collection: Collection, chunk_ids: Iterable[int]) -> dict[int, Vector]:
    """The stored vectors of chunks, each (dim,) float32."""
    rows = connection.execute(statement("vectors", "of_chunks"), _scope(collection) | {"chunk_ids": list(chunk_ids)})
    return {row[0]: row[1].to_numpy().astype(np.float32) for row in rows}


def of_spans(connection: Db, collection: Collection, chunk_ids: Iterable[int]) -> dict[tuple[int, int, int], Vector]:
    """The stored vectors of the spans of chunks, by (chunk id, start, end), each (dim,) float32."""
    rows = connection.execute(statement("vectors", "of_spans"), _scope(collection) | {"chunk_ids": list(chunk_ids)})
    return {(row[0], row[1], row[2]): row[3].to_numpy().astype(np.float32) for row in rows}


def add(connection: Db, collection: Collection, chunk_ids: Sequence[int], vectors: Sequence[Vector]) -> None:
    """Write the vectors of chunks, given in the same order."""
    if len(chunk_ids):
        rows = wire.to_rows(
            (*_scope(collection).values(), np.asarray(chunk_ids, np.int64)), np.asarray(vectors, np.float32)
        )
        _copy(connection, statement("vectors", "copy_embedding"), rows)


def add_spans(
    connection: Db, collection: Collection, spans: Sequence[tuple[int, int]], vectors: Sequence[Vector]
) -> None:
    """Write the vectors of spans, given by (chunk id, ordinal); half precision is enough to rank and quote."""
    if len(spans):
        chunk_ids, ordinals = np.array(spans, np.int64).T
        keys = (*_scope(collection).values(), chunk_ids, ordinals.astype(np.int32))
        _copy(
            connection, statement("vectors", "copy_span_embedding"), wire.to_rows(keys, np.asarray(vectors, np.float16))
        )


def remove(connection: Db, collection_id: int, space_id: int, chunk_ids: Sequence[int]) -> None:
    """Take away the vectors that chunks and their spans have in a space."""
    values = {"collection_id": collection_id, "space_id": space_id, "chunk_ids": list(chunk_ids)}
    connection.execute(statement("vectors", "remove_of_chunks"), values)


def some_chunks(connection: Db, collection_id: int, space_id: int, *, limit: int) -> list[int]:
    """Some chunks of a collection that have vectors in a space."""
    values = {"collection_id": collection_id, "space_id": space_id, "limit": limit}
    return [row[0] for row in connection.execute(statement("vectors", "some_chunks"), values)]


def other_spaces(connection: Db, collection_id: int) -> list[int]:
    """The ids of spaces in which a collection has vectors although they are neither its own nor to be."""
    values = {"collection_id": collection_id}
    return [row[0] for row in connection.execute(statement("vectors", "other_spaces"), values)]


def nearest(connection: Db, collection: Collection, vector: Vector, limit: int) -> Scored:
    """The `limit` findable chunks of highest cosine, exactly, best first; ties go to the smaller id."""
    values = _scope(collection) | {"vector": vector, "limit": limit}
    return _ranked(connection.execute(statement("vectors", "nearest"), values, prepare=False))


def nearest_among(connection: Db, collection: Collection, vector: Vector, limit: int, chunk_ids: Ints) -> Scored:
    """The same among given chunks."""
    values = _scope(collection) | {"vector": vector, "limit": limit, "chunk_ids": wire.Bigints(chunk_ids)}
    return _ranked(connection.execute(statement("vectors", "nearest_among"), values, prepare=False))


def nearest_indexed(
    connection: Db, collection: Collection, vector: Vector, limit: int, allowed: Filters, scan: IndexScan
) -> Scored:
    """The same by the HNSW index: near certain to be the nearest, and at times fewer than there are.

    Never prepared: a plan made without the values takes LIMIT for a tenth of the table, and forgets the index.
    """
    tuning = {"ef_search": min(max(scan.ef_search, limit), EF_SEARCH_MAX), "max_scan_tuples": scan.max_scan_tuples}
    values = _scope(collection) | filters.values(allowed) | {"filtered": bool(allowed.given())}
    text = statement("vectors", "nearest_indexed").replace("indexed_type", spaces.vector_type(scan.indexed_type))
    with connection.pipeline():  # one round trip for the three
        connection.execute(statement("vectors", "tune"), tuning)
        found = connection.execute(text, values | {"vector": vector, "limit": limit}, prepare=False)
        connection.execute(statement("vectors", "untune"))
    return _ranked(found)


def cosines(connection: Db, collection: Collection, vector: Vector, chunk_ids: Ints) -> Floats:
    """The cosine of each given chunk, in their order; NaN where a chunk has no vector."""
    values = _scope(collection) | {"vector": vector, "chunk_ids": wire.Bigints(chunk_ids)}
    found = dict(cast(list[tuple[int, float]], connection.execute(statement("vectors", "cosines"), values).fetchall()))
    return np.array([found.get(chunk_id, np.nan) for chunk_id in chunk_ids.tolist()], np.float64)


def span_scores(
    connection: Db, collection: Collection, vector: Vector | None, chunk_ids: Sequence[int]
) -> list[SpanScore]:
    """Every span of the given chunks with its cosine; None where there is no question vector or no span vector."""
    blank = np.zeros(collection.space.identity.dim, np.float32)
    values = _scope(collection) | {"vector": blank if vector is None else vector, "chunk_ids": wire.Bigints(chunk_ids)}
    rows = connection.execute(statement("vectors", "span_cosines"), values).fetchall()
    return [SpanScore(row[0], row[1], row[2], None if vector is None else row[3]) for row in rows]


def _ranked(found: Cursor[TupleRow]) -> Scored:
    rows = found.fetchall()
    ids, cosines = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)
    order = np.lexsort((ids, -cosines))
    return ids[order], cosines[order]


def _copy(connection: Db, text: LiteralString, blocks: Iterable[bytes]) -> None:
    with connection.cursor() as cursor, cursor.copy(text) as copy:
        for block in blocks:
            copy.write(block)


def _scope(collection: Collection) -> dict[str, Any]:
    return {"space_id": collection.space.id, "collection_id": collection.id}
