"""What changed in a document between two of its versions: the chunks that one has and the other has not."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.db import collections, documents, versions
from app.db.pool import Db
from app.errors import InvalidInput, NotFound
from app.records import ChunkChange, Document, DocumentVersion


@dataclass(frozen=True, slots=True)
class Changes:
    """What `until` has and `since` has not, or the other way round; `changed` in some version between them."""

    since: int
    until: int
    changed: tuple[str, ...]
    chunks: tuple[ChunkChange, ...]


def of_document(connection: Db, document_id: int) -> tuple[Document, list[DocumentVersion]]:
    """A document and the versions of it that are kept, newest first. Raises NotFound."""
    document = documents.get(connection, document_id)
    collection = collections.get(connection, document.collection)
    return document, versions.listed(connection, collection.id, document_id)


def changes(connection: Db, document_id: int, *, since: int | None = None, until: int | None = None) -> Changes:
    """What changed after version `since` (the one before `until`) up to `until` (the newest).

    Raises InvalidInput where they are no range, NotFound where a version between them is not kept.
    """
    document, kept = of_document(connection, document_id)
    last = document.version if until is None else until
    first = last - 1 if since is None else since
    if not 0 < first < last:
        raise _no_range(document, since, until)
    between = [version for version in kept if first < version.version <= last]
    if len(between) != last - first or not any(version.version == first for version in kept):
        known = f"versions {kept[-1].version} to {kept[0].version} are kept" if kept else "no version is kept"
        raise NotFound(f"of {document.source} {known}, versions {first} to {last} were asked for")
    collection_id = collections.get(connection, document.collection).id
    parts = dict.fromkeys(part for version in reversed(between) for part in version.changed)
    listed = versions.changes(connection, collection_id, document_id, first, last)
    return Changes(first, last, tuple(parts), tuple(net(listed)))


def _no_range(document: Document, since: int | None, until: int | None) -> InvalidInput | NotFound:
    if since is None and until is None:
        return NotFound(f"{document.source} has one version only")
    field = "until" if since is None else "since"
    return InvalidInput(field, f"`since` is a version from 1 that comes before `until`, at most {document.version}")


def net(listed: Iterable[ChunkChange]) -> list[ChunkChange]:
    """What remains of changes, given in order, where a text that came and went, or went and came, is none.

    Returned in the order of their places, the removed before the added.
    """
    open_changes: dict[str, list[ChunkChange]] = {}
    for change in listed:
        same = open_changes.setdefault(change.text_sha256, [])
        if same and same[-1].kind != change.kind:
            same.pop()
        else:
            same.append(change)
    left = (change for same in open_changes.values() for change in same)
    return sorted(left, key=lambda change: (change.ordinal, change.kind == "added", change.version))
