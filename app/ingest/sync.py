"""Make a collection hold the files of a run alone."""

from collections.abc import Sequence

from app.db import collections, documents, pending
from app.errors import InvalidInput
from app.ingest import store
from app.records import Ingested
from app.resources import Resources


def gone(name: str, outcomes: Sequence[Ingested], resources: Resources) -> list[Ingested]:
    """The documents of a collection, those that wait included, that were no part of a run, as `remove` tells them.

    What came from an archive that could not be read stays. Raises InvalidInput where the run had no files: a folder
    that is not mounted is no reason to empty a collection.
    """
    if not outcomes:
        raise InvalidInput("sync", f"no file was found, and every document of {name} would go; nothing was removed")
    with resources.database.read() as connection:
        if (collection := collections.find(connection, name)) is None:
            return []
        waiting = {one.source: None for one in pending.due(connection, collection.id, every=True)}
        found = waiting | documents.sources(connection, collection.id)
    sources = {outcome.source for outcome in outcomes}
    unread = tuple(f"{outcome.source}/" for outcome in outcomes if outcome.outcome == "failed")
    return [
        Ingested(source, "removed", document_id)
        for source, document_id in found.items()
        if source not in sources and not source.startswith(unread)
    ]


def remove(name: str, outcomes: Sequence[Ingested], resources: Resources) -> list[Ingested]:
    """Delete them, each in a transaction of its own."""
    removed = gone(name, outcomes, resources)
    for outcome in removed:
        if outcome.document_id is not None:
            store.delete(outcome.document_id, resources)
            continue
        with resources.database.write() as connection:
            pending.forget(connection, collections.get(connection, name).id, outcome.source)
    return removed
