"""Embedding spaces: one row and one partition of each vector table per model."""

import re
from dataclasses import asdict, dataclass
from typing import LiteralString, cast

from psycopg.sql import SQL, Identifier, Literal

from app.db.pool import Db
from app.db.sql import statement
from app.records import ModelIdentity, Space


@dataclass(frozen=True, slots=True)
class Partition:
    """A space's part of `embedding`. `rows` is the server's estimate; `indexed_type` is None without a valid index."""

    rows: int
    indexed_type: str | None


def ensure(connection: Db, identity: ModelIdentity) -> Space:
    """The active space of a model, created with its partitions where it is new."""
    if (space := _find(connection, identity)) is None:
        connection.execute(statement("spaces", "lock"))
        space = _find(connection, identity) or _create(connection, identity)
    return space


def partition(connection: Db, space: Space) -> Partition:
    """What the choice of a scan needs to know, from the catalogs alone."""
    row = connection.execute(statement("spaces", "partition"), {"space_id": space.id}).fetchone()
    return Partition(*cast(tuple[int, str | None], row))


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
    return Space(row[0], identity) if row else None


def _create(connection: Db, identity: ModelIdentity) -> Space:
    space_id = cast(tuple[int], connection.execute(statement("spaces", "insert"), asdict(identity)).fetchone())[0]
    for table in ("embedding", "span_embedding", "qa_embedding"):
        partition = SQL(
            "CREATE TABLE {schema}.{partition} PARTITION OF {table}"
            " (CONSTRAINT {check} CHECK (vector_dims(embedding) = {dim})) FOR VALUES IN ({space_id})"
        )
        connection.execute(
            partition.format(
                schema=Identifier(schema(connection)),
                partition=Identifier(f"{table}_s{space_id}"),
                table=Identifier(table),
                check=Identifier(f"{table}_s{space_id}_dim_check"),
                dim=Literal(identity.dim),
                space_id=Literal(space_id),
            )
        )
    return Space(space_id, identity)
