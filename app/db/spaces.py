"""Embedding spaces: one row and one partition of each vector table per model."""

import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import LiteralString, cast

import numpy as np
from psycopg import errors
from psycopg.sql import SQL, Identifier, Literal

from app.db.pool import Db
from app.db.sql import statement
from app.errors import Conflict
from app.records import ModelIdentity, Space, SpaceState, Vectors

_TABLES = ("embedding", "span_embedding", "qa_embedding")
# attached when it is there: PARTITION OF would wait for all who read the table, a dump for one
_CREATE_PARTITION = SQL(
    "CREATE TABLE {schema}.{partition} (LIKE {schema}.{table} INCLUDING ALL EXCLUDING INDEXES,"
    " CONSTRAINT {check} CHECK (vector_dims(embedding) = {dim}))"
)
_ATTACH_PARTITION = SQL("ALTER TABLE {schema}.{table} ATTACH PARTITION {schema}.{partition} FOR VALUES IN ({space_id})")
_LOCK_MILLISECONDS = 200  # others wait for so long at most, once in each attempt
_LOCK_ATTEMPTS = 30
_LOCK_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Partition:
    """A space's part of `embedding`. `rows` is the server's estimate; `indexed_type` is None without a valid index."""

    rows: int
    indexed_type: str | None


def ensure(connection: Db, space: Space, *, state: SpaceState = "active") -> Space:
    """The space of a model, created with its partitions where it is new; `space` says what it is to be, its id apart.

    One that is there becomes active where that is asked for, and gets the fingerprint where it has none. The caller
    has read and locked nothing before. Raises Conflict where writers left no gap to create one.
    """
    lock(connection)
    if (found := _find(connection, space.identity)) is None:
        return _create(connection, space, state)
    values = {"space_id": found.id, "fingerprint": _as_list(space.fingerprint), "state": state}
    connection.execute(statement("spaces", "mark"), values)
    return found if found.fingerprint is not None else replace(found, fingerprint=space.fingerprint)


def partition(connection: Db, space: Space) -> Partition:
    """What the choice of a scan needs to know, from the catalogs alone."""
    row = connection.execute(statement("spaces", "partition"), {"space_id": space.id}).fetchone()
    return Partition(*cast(tuple[int, str | None], row))


def lock(connection: Db) -> None:
    """Until the transaction ends nobody else makes a space, takes one into use or retires one. Before other locks."""
    connection.execute(statement("spaces", "lock"))


def activate(connection: Db, space_id: int) -> None:
    """A space that was being built is searched from now on."""
    connection.execute(statement("spaces", "activate"), {"space_id": space_id})


def retire_unused(connection: Db, space_id: int | None = None) -> None:
    """Retire a space that no collection has or is to get; without an id, those whose change was given up.

    The caller holds the lock.
    """
    connection.execute(statement("spaces", "retire_unused"), {"space_id": space_id})


def retired(connection: Db) -> list[int]:
    """The ids of retired spaces that still have partitions."""
    return [row[0] for row in connection.execute(statement("spaces", "retired"))]


def analyze(connection: Db, space: Space) -> None:
    """Refresh what the planner knows of a space's vectors."""
    names = [Identifier(schema(connection), f"{table}_s{space.id}") for table in ("embedding", "span_embedding")]
    connection.execute(SQL("ANALYZE {}").format(SQL(", ").join(names)))


def moment(connection: Db) -> datetime:
    """The server's clock."""
    return cast(tuple[datetime], connection.execute(statement("spaces", "moment")).fetchone())[0]


def in_use_since(connection: Db, moment: datetime) -> bool:
    """Whether a transaction still runs that began before a moment."""
    row = connection.execute(statement("spaces", "in_use_since"), {"moment": moment}).fetchone()
    return cast(tuple[bool], row)[0]


def drop_partitions(connection: Db, space_id: int) -> None:
    """Drop what a retired space held. Raises Conflict where searches and writers left no gap."""
    _lock_out(connection, "searches and writers", statement("spaces", "lock_out_writers_and_readers"))
    for table in _TABLES:
        partition = Identifier(schema(connection), f"{table}_s{space_id}")
        connection.execute(SQL("DROP TABLE IF EXISTS {}").format(partition))


def vector_type(name: str) -> LiteralString:
    """A type's name, known to be nothing else: a type takes no bound value. Raises ValueError."""
    if not re.fullmatch(r"(vector|halfvec)\(\d+\)", name):
        raise ValueError(f"no vector type: {name}")
    return name


def schema(connection: Db) -> str:
    """Where the partitions stand."""
    return cast(tuple[str], connection.execute(statement("spaces", "schema")).fetchone())[0]


def _find(connection: Db, identity: ModelIdentity) -> Space | None:
    row = connection.execute(statement("spaces", "find"), asdict(identity)).fetchone()
    return Space(row[0], identity, fingerprint(row[1], identity)) if row else None


def _create(connection: Db, space: Space, state: SpaceState) -> Space:
    identity = space.identity
    values = asdict(identity) | {"state": state, "fingerprint": _as_list(space.fingerprint)}
    space_id = cast(tuple[int], connection.execute(statement("spaces", "insert"), values).fetchone())[0]
    _lock_out(connection, "writers", statement("spaces", "lock_out_writers"))
    for table in _TABLES:
        names = {
            "schema": Identifier(schema(connection)),
            "partition": Identifier(f"{table}_s{space_id}"),
            "table": Identifier(table),
            "check": Identifier(f"{table}_s{space_id}_dim_check"),
        }
        for step in (_CREATE_PARTITION, _ATTACH_PARTITION):
            connection.execute(step.format(**names, dim=Literal(identity.dim), space_id=Literal(space_id)))
    return replace(space, id=space_id)


def _lock_out(connection: Db, whom: str, lock: LiteralString) -> None:
    """Wait for the transactions that a change of partitions would deadlock with, and let others wait for a moment at
    most."""
    for attempt in range(_LOCK_ATTEMPTS):
        if attempt:
            time.sleep(_LOCK_PAUSE_SECONDS)
        with suppress(errors.LockNotAvailable), connection.transaction():
            connection.execute(statement("spaces", "patience"), {"milliseconds": _LOCK_MILLISECONDS})
            connection.execute(lock)
            return
    raise Conflict(f"{whom} left no gap to change the tables of vectors")


def fingerprint(stored: list[float] | None, identity: ModelIdentity) -> Vectors | None:
    """The vectors of the probes (n, dim), as they were before they were stored one after the other."""
    return None if stored is None else np.array(stored, np.float32).reshape(-1, identity.dim)


def _as_list(vectors: Vectors | None) -> list[float] | None:
    return None if vectors is None else vectors.ravel().tolist()
