"""Documents that wait for an embedder.

A row is the newest version of a source that could not be embedded. Who stores or deletes the source deletes the row in
the same transaction, after the document's own row is locked.
"""

import json
from hashlib import sha256
from typing import Any, cast

from psycopg.types.json import Jsonb

from app.db.pool import Db
from app.db.sql import statement
from app.errors import NotFound, RagledgerError
from app.records import PendingDocument, Source


def keep(connection: Db, collection_id: int, source: Source, error: RagledgerError) -> None:
    """Let a document wait, in the place of an older version that waits."""
    values = _errors(error) | {"collection_id": collection_id, "source": source.source, "title": source.title}
    values |= {"media_type": source.media_type, "content": source.content, "pages": list(source.pages)}
    connection.execute(
        statement("pending", "keep"), values | {"metadata": Jsonb(dict(source.metadata)), "digest": _digest(source)}
    )


def note(connection: Db, collection_id: int, waiting: PendingDocument, error: RagledgerError) -> None:
    """Count an attempt that failed, unless a newer version waits by now."""
    connection.execute(statement("pending", "note"), _version(collection_id, waiting) | _errors(error))


def take(connection: Db, collection_id: int, waiting: PendingDocument) -> bool:
    """Let this very version wait no more. False where it does not: it was stored, replaced or deleted meanwhile."""
    return connection.execute(statement("pending", "take"), _version(collection_id, waiting)).rowcount > 0


def forget(connection: Db, collection_id: int, source: str) -> None:
    """Drop the version of a source that waits, for what is being stored is newer."""
    connection.execute(statement("pending", "forget"), {"collection_id": collection_id, "source": source})


def forget_older(connection: Db, collection_id: int, document_id: int, version: int) -> None:
    """The same where the stored document is still of this version."""
    values = {"collection_id": collection_id, "document_id": document_id, "version": version}
    connection.execute(statement("pending", "forget_older"), values)


def forget_with(connection: Db, collection_id: int, document_id: int) -> None:
    """The same for a document that is being deleted: what waits must not bring it back."""
    values = {"collection_id": collection_id, "document_id": document_id}
    connection.execute(statement("pending", "forget_with"), values)


def withdraw(connection: Db, collection_id: int, pending_id: int) -> None:
    """Drop what waits under this id. Raises NotFound."""
    values = {"collection_id": collection_id, "id": pending_id}
    if not connection.execute(statement("pending", "withdraw"), values).rowcount:
        raise NotFound(f"no document waits under the id {pending_id} in this collection")


def source_of(connection: Db, collection_id: int, waiting: PendingDocument) -> Source | None:
    """The document itself, or None where this version waits no more."""
    row = connection.execute(statement("pending", "content"), _version(collection_id, waiting)).fetchone()
    return Source(waiting.source, waiting.title, waiting.media_type, row[0], row[1], tuple(row[2])) if row else None


def listed(connection: Db, collection_id: int, *, after: int, limit: int) -> list[PendingDocument]:
    """A page of what waits in a collection by id, after the given one."""
    values = {"collection_id": collection_id, "after": after, "limit": limit}
    return [PendingDocument(*row) for row in connection.execute(statement("pending", "list"), values)]


def due(connection: Db, collection_id: int, *, every: bool) -> list[PendingDocument]:
    """What waits in a collection, in the order in which it should be tried; without `every` leaving out for an hour
    what an embedder answered for, in vain."""
    rows = connection.execute(statement("pending", "due"), {"collection_id": collection_id, "every": every})
    return [PendingDocument(*row) for row in rows]


def count(connection: Db, collection_id: int) -> int:
    """How many documents of a collection wait."""
    row = connection.execute(statement("pending", "count"), {"collection_id": collection_id}).fetchone()
    return cast(tuple[int], row)[0]


def collections(connection: Db) -> list[str]:
    """The collections in which something waits, by name."""
    return [row[0] for row in connection.execute(statement("pending", "collections"))]


def claim(connection: Db, collection_id: int) -> bool:
    """Whether it is for this transaction, until it ends, to embed what waits; else another one is at it."""
    row = connection.execute(statement("pending", "claim"), {"collection_id": collection_id}).fetchone()
    return cast(tuple[bool], row)[0]


def _version(collection_id: int, waiting: PendingDocument) -> dict[str, Any]:
    return {"collection_id": collection_id, "id": waiting.id, "digest": waiting.digest}


def _errors(error: RagledgerError) -> dict[str, str]:
    return {"error": type(error).__name__, "reason": str(error)}


def _digest(source: Source) -> str:
    parts = [source.title, source.media_type, source.content, dict(source.metadata)]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
