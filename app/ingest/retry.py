"""Embed the documents that waited for an embedder. Until one is stored, searches find what it replaces, or nothing."""

import logging
from collections.abc import Callable, Iterator

from app.db import collections, pending
from app.errors import CollectionNotFound, EmbedderUnavailable, RagledgerError
from app.ingest import index
from app.ingest.pipeline import OWN_FAULTS, SupersededError, embed_and_write, split_up
from app.records import Collection, Ingested, PendingDocument
from app.resources import Resources

_LOG = logging.getLogger(__name__)


def retry(
    name: str, resources: Resources, *, every: bool = True, go_on: Callable[[], bool] = lambda: True
) -> Iterator[Ingested]:
    """Try what waits in a collection, one document at a time. Yields the outcome of each that still waited.

    Ends at the first that no embedder answers for, and where `go_on` says so. One that fails otherwise is kept with
    its reason and keeps nothing else waiting; without `every` such a one is left out for an hour. Yields nothing while
    another process is at it. Raises CollectionNotFound.
    """
    with resources.database.read() as connection:
        collection = collections.get(connection, name)
    # open meanwhile, but without a snapshot or a table's lock: it keeps nobody waiting
    with resources.database.write(visible=False, unhurried=True) as claim:
        if not pending.claim(claim, collection.id):
            _LOG.info("retry.claimed collection=%s", collection.id)
            return
        with resources.database.read() as connection:
            due = pending.due(connection, collection.id, every=every)
        for waiting in due:
            outcome = _retried(waiting, collection, resources) if go_on() else None
            if outcome:
                yield outcome
            if outcome and outcome.outcome == "pending":
                break
    if due:
        index.mention(collection, resources)


def _retried(waiting: PendingDocument, collection: Collection, resources: Resources) -> Ingested | None:
    """What became of one document; None where another process was faster."""
    with resources.database.read() as connection:
        source = pending.source_of(connection, collection.id, waiting)
    if source is None:
        return None
    try:
        return embed_and_write(split_up(source, collection, waiting), collection, resources)
    except (SupersededError, CollectionNotFound):
        return None
    except (EmbedderUnavailable, *OWN_FAULTS) as e:
        _note(waiting, e, collection, resources)
        away = isinstance(e, EmbedderUnavailable)
        return Ingested(waiting.source, "pending" if away else "failed", reason=str(e))


def _note(waiting: PendingDocument, error: RagledgerError, collection: Collection, resources: Resources) -> None:
    _LOG.warning("retry.failed collection=%s pending=%s error=%s", collection.id, waiting.id, type(error).__name__)
    with resources.database.write(visible=False) as connection:
        pending.note(connection, collection.id, waiting, error)
