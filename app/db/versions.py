"""The last versions of documents, and the chunks that each added and removed."""

from collections.abc import Sequence

from app.db.pool import Db
from app.db.sql import statement
from app.records import ChunkChange, DocumentVersion


def record(
    connection: Db,
    collection_id: int,
    document_id: int,
    *,
    chunks: int,
    added: Sequence[int],
    removed: Sequence[int],
    changed: Sequence[str],
) -> None:
    """Keep the version that was just written, by the ids of chunks it added and of those that will be deleted."""
    values = {
        **_of(collection_id, document_id),
        "chunks": chunks,
        "added": list(added),
        "removed": list(removed),
        "changed": list(changed),
    }
    connection.execute(statement("versions", "record"), values)


def trim(connection: Db, collection_id: int, document_id: int, keep: int) -> None:
    """Forget all but the newest versions of a document."""
    connection.execute(statement("versions", "trim"), {**_of(collection_id, document_id), "keep": keep})


def listed(connection: Db, collection_id: int, document_id: int) -> list[DocumentVersion]:
    """The versions of a document that are kept, newest first."""
    rows = connection.execute(statement("versions", "list"), _of(collection_id, document_id))
    return [DocumentVersion(*row) for row in rows]


def changes(connection: Db, collection_id: int, document_id: int, since: int, until: int) -> list[ChunkChange]:
    """What the versions after `since`, up to `until`, removed and added, in that order, version by version."""
    values = {**_of(collection_id, document_id), "since": since, "until": until}
    return [ChunkChange(*row) for row in connection.execute(statement("versions", "changes"), values)]


def _of(collection_id: int, document_id: int) -> dict[str, int]:
    return {"collection_id": collection_id, "document_id": document_id}
