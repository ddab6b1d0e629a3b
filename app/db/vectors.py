"""Vectors of chunks and spans: written by COPY, compared by PostgreSQL. Distances never leave SQL."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from pgvector import HalfVector
from pgvector import Vector as PgVector

from app.db.pool import Db
from app.db.sql import statement
from app.records import Collection, Floats, Ints, SpanScore, Vector


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


def add(connection: Db, collection: Collection, vectors: Mapping[int, Vector]) -> None:
    """Write the vectors of chunks."""
    with connection.cursor() as cursor, cursor.copy(statement("vectors", "copy_embedding")) as copy:
        copy.set_types(["int8", "int8", "int8", "vector"])
        for chunk_id, vector in vectors.items():
            copy.write_row((collection.space.id, collection.id, chunk_id, PgVector(vector)))


def add_spans(connection: Db, collection: Collection, vectors: Mapping[tuple[int, int], Vector]) -> None:
    """Write the vectors of spans, by (chunk id, ordinal of the span); half precision is enough to rank and quote."""
    with connection.cursor() as cursor, cursor.copy(statement("vectors", "copy_span_embedding")) as copy:
        copy.set_types(["int8", "int8", "int8", "int4", "halfvec"])
        for (chunk_id, ordinal), vector in vectors.items():
            half = HalfVector(vector.astype(np.float16))
            copy.write_row((collection.space.id, collection.id, chunk_id, ordinal, half))


def nearest(connection: Db, collection: Collection, vector: Vector, limit: int) -> tuple[Ints, Floats]:
    """The `limit` chunks of highest cosine as (chunk ids, cosines), best first; ties go to the smaller id."""
    values = _scope(collection) | {"vector": vector, "limit": limit}
    ids, cosines = _columns(connection.execute(statement("vectors", "nearest"), values).fetchall())
    order = np.lexsort((ids, -cosines))
    return ids[order], cosines[order]


def cosines(connection: Db, collection: Collection, vector: Vector, chunk_ids: Ints) -> Floats:
    """The cosine of each given chunk, in their order; NaN where a chunk has no vector."""
    values = _scope(collection) | {"vector": vector, "chunk_ids": chunk_ids.tolist()}
    found = dict(cast(list[tuple[int, float]], connection.execute(statement("vectors", "cosines"), values).fetchall()))
    return np.array([found.get(chunk_id, np.nan) for chunk_id in chunk_ids.tolist()], np.float64)


def span_scores(
    connection: Db, collection: Collection, vector: Vector | None, chunk_ids: Sequence[int]
) -> list[SpanScore]:
    """Every span of the given chunks with its cosine; None where there is no question vector or no span vector."""
    blank = np.zeros(collection.space.identity.dim, np.float32)
    values = _scope(collection) | {"vector": blank if vector is None else vector, "chunk_ids": list(chunk_ids)}
    rows = connection.execute(statement("vectors", "span_cosines"), values)
    return [SpanScore(row[0], row[1], row[2], None if vector is None else row[3]) for row in rows]


def _columns(rows: Sequence[tuple[Any, ...]]) -> tuple[Ints, Floats]:
    return np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)


def _scope(collection: Collection) -> dict[str, Any]:
    return {"space_id": collection.space.id, "collection_id": collection.id}
