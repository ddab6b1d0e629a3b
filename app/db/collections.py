"""Collections: their space, their settings, their revision."""

from dataclasses import asdict, replace
from typing import Any

from psycopg.types.json import Jsonb

from app.db import lexicon, spaces
from app.db.pool import Db
from app.db.sql import statement
from app.errors import CollectionNotFound, Conflict
from app.records import Collection, ModelIdentity, Space, Splitting, WordList

_NAMED = 8  # collections that an error lists


def find(connection: Db, name: str) -> Collection | None:
    """A collection by name, or None."""
    row = connection.execute(statement("collections", "find"), {"name": name}).fetchone()
    return _collection(row, lexicon.words(connection, row[11])) if row else None


def current(connection: Db, collection: Collection) -> Collection:
    """A collection as it is by now. Raises CollectionNotFound, also where another has its name."""
    row = connection.execute(statement("collections", "by_id"), {"collection_id": collection.id}).fetchone()
    if row is None:
        raise CollectionNotFound("the collection was deleted meanwhile")
    return _collection(row, lexicon.words(connection, row[11]))


def require_space(connection: Db, collection: Collection) -> None:
    """Raises Conflict where a collection has another model by now. To rely on it the caller holds its lock."""
    row = connection.execute(statement("collections", "space"), {"collection_id": collection.id}).fetchone()
    if row != (collection.space.id,):
        raise Conflict("the model of the collection changed meanwhile")


def get(connection: Db, name: str) -> Collection:
    """A collection by name. Raises CollectionNotFound."""
    if (collection := find(connection, name)) is None:
        there = [other for other, _, _ in names(connection)]
        listed = ", ".join(there[:_NAMED]) + (" …" if len(there) > _NAMED else "")
        raise CollectionNotFound(f"no collection is named {name!r}; there are: {listed or 'none yet'}")
    return collection


def ensure(connection: Db, name: str, space: Space, splitting: Splitting) -> Collection:
    """A collection by name; where it is new, it gets this space, this splitting and the words of all.

    First in a transaction. Raises Conflict where its space is new and writers left no gap to create it.
    """
    spaces.lock(connection)
    if collection := find(connection, name):
        return collection
    space = spaces.ensure(connection, space)
    words = lexicon.wanted(connection, None)
    lexicon.keep(connection, words)
    values = {"name": name, "space_id": space.id, "word_list": words.sha256 or None}
    values |= {"settings": Jsonb({"splitting": asdict(splitting)})}
    connection.execute(statement("collections", "insert"), values)
    return get(connection, name)


def names(connection: Db) -> list[tuple[str, int, int]]:
    """Every collection as (name, revision, documents), by name."""
    return [(row[0], row[1], row[2]) for row in connection.execute(statement("collections", "names"))]


def sharing(connection: Db, collection: Collection, *, limit: int) -> list[Collection]:
    """The newest other collections of its space, as far as their vectors are concerned."""
    values = {"collection_id": collection.id, "space_id": collection.space.id, "limit": limit}
    rows = connection.execute(statement("collections", "sharing"), values)
    return [replace(collection, id=row[0], name=row[1]) for row in rows]


def hold(connection: Db, collection_id: int) -> None:
    """Keep a collection from being deleted until the transaction ends; first in it. Raises CollectionNotFound."""
    row = connection.execute(statement("collections", "hold"), {"collection_id": collection_id}).fetchone()
    if row is None:
        raise CollectionNotFound("the collection was deleted meanwhile")


def lock(connection: Db, collection_id: int) -> None:
    """Wait for the other writers of a collection; take it last in a transaction."""
    connection.execute(statement("collections", "lock"), {"collection_id": collection_id})


def bump(connection: Db, collection_id: int) -> int:
    """Grow the revision, which locks the collection as `lock` does. Returns the new one."""
    row = connection.execute(statement("collections", "bump"), {"collection_id": collection_id}).fetchone()
    if row is None:
        raise CollectionNotFound("the collection was deleted meanwhile")
    return int(row[0])


def delete(connection: Db, name: str) -> bool:
    """Delete a collection with all that belongs to it, after its writers are done. Returns whether there was one.

    A large collection takes longer than a search may: the caller's transaction is `unhurried`.
    """
    connection.execute(statement("collections", "lock_for_deletion"), {"name": name})
    return connection.execute(statement("collections", "delete"), {"name": name}).rowcount > 0


def _collection(row: tuple[Any, ...], words: WordList) -> Collection:
    identity = ModelIdentity(backend=row[5], model=row[6], dim=row[7], query_prefix=row[8], passage_prefix=row[9])
    space = Space(row[4], identity, spaces.fingerprint(row[12], identity))
    return Collection(row[0], row[1], space, Splitting(**row[2].get("splitting", {})), row[3], row[10], words)
