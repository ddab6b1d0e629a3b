"""Make a collection hold the files of a run alone."""

from collections.abc import Collection as Sized

from app.db import collections, documents, pending
from app.errors import InvalidInput
from app.ingest import store
from app.records import Ingested
from app.resources import Resources


def gone(name: str, sources: Sized[str], resources: Resources) -> list[Ingested]:
    """The documents of a collection, those that wait included, whose source is none of these, as `remove` tells them.

    Raises InvalidInput where there are no sources: a folder that is not mounted is no reason to empty a collection.
    """
    if not sources:
        raise InvalidInput("sync", f"no file was found, and every document of {name} would go; nothing was removed")
    with resources.database.read() as connection:
        if (collection := collections.find(connection, name)) is None:
            return []
        waiting = {one.source: None for one in pending.due(connection, collection.id, every=True)}
        found = waiting | documents.sources(connection, collection.id)
    return [Ingested(source, "removed", document_id) for source, document_id in found.items() if source not in sources]


def remove(name: str, sources: Sized[str], resources: Resources) -> list[Ingested]:
    """Delete them, each in a transaction of its own."""
    outcomes = gone(name, sources, resources)
    for outcome in outcomes:
        if outcome.document_id is not None:
            store.delete(outcome.document_id, resources)
            continue
        with resources.database.write() as connection:
            pending.forget(connection, collections.get(connection, name).id, outcome.source)
    return outcomes
