"""HNSW indexes over a space's vectors: found in the catalogs, whatever their names, and built one at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import psycopg
from psycopg import errors
from psycopg.sql import SQL, Identifier, Literal

from app.db import spaces
from app.db.pool import Db, translated
from app.db.sql import statement
from app.records import Space

VECTOR_DIM_MAX, HALFVEC_DIM_MAX = 2_000, 4_000  # what pgvector's HNSW takes
# pgvector's own 16 and 64 build in half the time, and a search then takes a third longer for the same recall; the size
# is the same up to 384 dimensions: as many vectors fit on a page
_M, _EF_CONSTRUCTION = 24, 128
_GRAPH_BYTES = 1_200  # of one element besides its vector; measured: 970
_LEAST_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Index:
    """An HNSW index; an invalid one costs writers time and serves nobody."""

    name: str
    valid: bool
    indexed_type: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is."""

    phase: str
    done: int
    total: int


def indexed_type(space: Space, *, half: bool) -> str | None:
    """The type to index a space's vectors in; None where they have too many dimensions for any."""
    dim = space.identity.dim
    if dim > HALFVEC_DIM_MAX:
        return None
    return f"halfvec({dim})" if half or dim > VECTOR_DIM_MAX else f"vector({dim})"


@contextmanager
def session(url: str) -> Iterator[Db]:
    """A connection of its own without transactions, as CONCURRENTLY and a lock of hours need it."""
    with translated(), psycopg.connect(url, autocommit=True, application_name="ragledger") as connection:
        yield connection


def claim(connection: Db, space: Space) -> bool:
    """Whether this session may build; false while another one does."""
    row = connection.execute(statement("indexes", "claim"), {"space_id": space.id}).fetchone()
    return cast(tuple[bool], row)[0]


def find(connection: Db, space: Space) -> list[Index]:
    """The HNSW indexes of a space, newest first."""
    values = {"partition": _partition(connection, space).as_string()}
    return [Index(*row) for row in connection.execute(statement("indexes", "find"), values)]


def count(connection: Db, collection_id: int) -> int:
    """How many chunks a search of a collection sees."""
    row = connection.execute(statement("indexes", "count"), {"collection_id": collection_id}).fetchone()
    return cast(tuple[int], row)[0]


def prepare(connection: Db, space: Space, *, memory_bytes: int, workers: int) -> int:
    """Let the session build for as long as it takes, with the memory that the graph needs, up to a limit.

    Returns the bytes needed. Statistics are refreshed before: the need follows from them, and the choice of scans.
    """
    connection.execute(SQL("ANALYZE document, chunk, {}").format(_partition(connection, space)))
    needed = spaces.partition(connection, space).rows * (4 * space.identity.dim + _GRAPH_BYTES)
    kilobytes = min(max(needed, _LEAST_BYTES), memory_bytes) // 1024
    connection.execute(statement("indexes", "prepare"), {"kilobytes": kilobytes, "workers": workers})
    return needed


def create(connection: Db, space: Space, indexed_type: str, *, online: bool) -> None:
    """Build an index. Online, writers go on meanwhile; otherwise they wait, and it takes less time."""
    text = SQL(
        "CREATE INDEX {online} ON {partition} USING hnsw ((embedding::{type}) {operators})"
        " WITH (m = {m}, ef_construction = {ef_construction})"
    ).format(
        online=SQL("CONCURRENTLY" if online else ""),
        partition=_partition(connection, space),
        type=SQL(spaces.vector_type(indexed_type)),
        operators=Identifier(indexed_type.partition("(")[0] + "_cosine_ops"),
        m=Literal(_M),
        ef_construction=Literal(_EF_CONSTRUCTION),
    )
    try:
        connection.execute(text)
    except (errors.DiskFull, errors.OutOfMemory):  # workers share memory that a container may not have; one needs none
        connection.execute(statement("indexes", "alone"))
        connection.execute(text)


def drop(connection: Db, index: Index, *, wait_seconds: int = 0) -> bool:
    """Drop an index without holding up searches. Returns false where others were at it for too long; 0: any time."""
    connection.execute(statement("indexes", "patience"), {"milliseconds": wait_seconds * 1000})
    name = Identifier(spaces.schema(connection), index.name)
    try:
        connection.execute(SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(name))
    except errors.LockNotAvailable:
        return False
    return True


def progress(connection: Db, space: Space) -> Progress | None:
    """Of the build that runs, if one does."""
    values = {"partition": _partition(connection, space).as_string()}
    row = connection.execute(statement("indexes", "progress"), values).fetchone()
    return Progress(*row) if row else None


def _partition(connection: Db, space: Space) -> Identifier:
    return Identifier(spaces.schema(connection), f"embedding_s{space.id}")
