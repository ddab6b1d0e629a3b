"""Changes of a collection's model that are under way: what still lacks a vector of the new one, and the switch.

A `Collection` given as `target` is the collection as it will be: its space is the new one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from psycopg import Cursor
from psycopg.rows import TupleRow

from app.db import collections, spaces
from app.db.pool import Db
from app.db.sql import statement
from app.errors import Conflict
from app.records import Chunk, Collection, ModelChange, ModelIdentity, Space, Span


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a collection holds; equal texts are embedded once."""

    chunks: int
    distinct_texts: int
    characters: int
    spans: int


def claim(connection: Db, collection_id: int) -> bool:
    """Whether this session may change the collection's model; false while another one does."""
    row = connection.execute(statement("reembeddings", "claim"), {"collection_id": collection_id}).fetchone()
    return cast(tuple[bool], row)[0]


def find(connection: Db, collection_id: int) -> Space | None:
    """The space that a collection is to get, where a change is under way."""
    row = connection.execute(statement("reembeddings", "find"), {"collection_id": collection_id}).fetchone()
    if row is None:
        return None
    identity = ModelIdentity(backend=row[1], model=row[2], dim=row[3], query_prefix=row[4], passage_prefix=row[5])
    return Space(row[0], identity, spaces.fingerprint(row[6], identity))


def under_way(connection: Db, collection: Collection) -> ModelChange | None:
    """How far a change is, where one is under way."""
    if (space := find(connection, collection.id)) is None:
        return None
    chunks, embedded = counts(connection, replace(collection, space=space))
    return ModelChange(space.identity, embedded, chunks)


def begin(connection: Db, target: Collection) -> None:
    """Keep that a change is under way; nothing where one is."""
    connection.execute(statement("reembeddings", "begin"), _scope(target))


def counts(connection: Db, target: Collection) -> tuple[int, int]:
    """(chunks, how many of them have a vector)."""
    return cast(tuple[int, int], connection.execute(statement("reembeddings", "counts"), _scope(target)).fetchone())


def newest(connection: Db, target: Collection) -> int:
    """The greatest id of a collection's chunks; 0 where there is none."""
    return cast(tuple[int], connection.execute(statement("reembeddings", "newest"), _scope(target)).fetchone())[0]


def page(connection: Db, target: Collection, *, after: int, newest: int, limit: int) -> dict[int, Chunk]:
    """By id: the next chunks up to the newest that lack a vector, of their own or of a span."""
    values = _scope(target) | {"after": after, "newest": newest, "limit": limit}
    return _chunks(connection.execute(statement("reembeddings", "page"), values))


def without_vector(connection: Db, target: Collection, *, limit: int) -> dict[int, Chunk]:
    """Some chunks without a vector, by id; none is a proof that all have one."""
    values = _scope(target) | {"limit": limit}
    return _chunks(connection.execute(statement("reembeddings", "without_vector"), values))


def half_embedded(connection: Db, target: Collection) -> int:
    """How many spans have no vector although their chunk has one."""
    row = connection.execute(statement("reembeddings", "half_embedded"), _scope(target)).fetchone()
    return cast(tuple[int], row)[0]


def hold_chunks(connection: Db, collection_id: int, chunk_ids: Sequence[int]) -> frozenset[int]:
    """Those of the chunks that are there, kept from being deleted until the transaction ends."""
    values = {"collection_id": collection_id, "chunk_ids": list(chunk_ids)}
    return frozenset(row[0] for row in connection.execute(statement("reembeddings", "hold_chunks"), values))


def switch(connection: Db, old: Collection, target: Collection) -> None:
    """Search the new space from the commit on; a space that nobody uses any more is retired.

    The caller holds the lock of spaces and the collection's, and knows that no vector is missing. Raises Conflict where
    the change was given up meanwhile.
    """
    end(connection, target)
    connection.execute(statement("reembeddings", "point"), _scope(target))
    spaces.activate(connection, target.space.id)
    spaces.retire_unused(connection, old.space.id)
    collections.bump(connection, target.id)


def end(connection: Db, target: Collection) -> None:
    """A change is under way no longer. Raises Conflict where it was not."""
    if connection.execute(statement("reembeddings", "end"), _scope(target)).fetchone() is None:
        raise Conflict(f"the change of {target.name}'s model was ended by another process")


def sample(connection: Db, collection_id: int, *, limit: int) -> list[Chunk]:
    """Some chunks of a collection, at random but the same each time."""
    values = {"collection_id": collection_id, "limit": limit}
    rows = connection.execute(statement("reembeddings", "sample"), values)
    return [_chunk(*row) for row in rows]


def amounts(connection: Db, collection_id: int) -> Amounts:
    """How much there is to embed."""
    row = connection.execute(statement("reembeddings", "amounts"), {"collection_id": collection_id}).fetchone()
    return Amounts(*cast(tuple[int, int, int, int], row))


def _chunks(rows: Cursor[TupleRow]) -> dict[int, Chunk]:
    return {row[0]: _chunk(row[1], row[2]) for row in rows}


def _chunk(text: str, spans: list[list[int]] | None) -> Chunk:
    """A chunk as embedding needs it: its place in the document is not read."""
    return Chunk(0, 0, len(text), text, "", tuple(Span(start, end) for start, end in spans or ()))


def _scope(target: Collection) -> dict[str, Any]:
    return {"space_id": target.space.id, "collection_id": target.id}
