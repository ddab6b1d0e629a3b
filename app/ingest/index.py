"""Build the HNSW index of a space once a collection in it has outgrown exact scans."""

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache

from app import services
from app.db import indexes
from app.db.indexes import Index, Progress
from app.db.pool import Db
from app.errors import Conflict, InvalidInput
from app.records import Collection, Space
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.3
_PARTING_SECONDS = 3  # who interrupts a build does not wait for a writer that takes long; the next build cleans up
Watch = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class State:
    """How many chunks a collection has, the valid index that serves it, if there is one, and whether one is due."""

    chunks: int
    index: Index | None
    due: bool


def state(collection: Collection, resources: Resources) -> State:
    """Look at a collection and its space."""
    with resources.database.read() as connection:
        chunks = indexes.count(connection, collection.id)
        valid = [index for index in indexes.find(connection, collection.space) if index.valid]
    can = indexes.indexed_type(collection.space, half=resources.settings.hnsw_halfvec) is not None
    return State(chunks, next(iter(valid), None), can and not valid and chunks > resources.settings.exact_scan_max)


def mention(collection: Collection, resources: Resources) -> None:
    """Say in the log that an index is due, once in a process for each collection."""
    if state(collection, resources).due:
        _mention(collection.id)


@cache
def _mention(collection_id: int) -> None:
    _LOG.info("index.due collection=%s command='ragledger index'", collection_id)


def build(space: Space, resources: Resources, watch: Watch, *, online: bool = True) -> Index:
    """Build an index; then drop those it replaces. What a failed build leaves is dropped, at the latest by the next.

    Raises Conflict while another process builds one of this space, InvalidInput where no index holds such vectors.
    """
    settings = resources.settings
    if (indexed_type := indexes.indexed_type(space, half=settings.hnsw_halfvec)) is None:
        raise InvalidInput("dim", f"an HNSW index takes no vectors of {space.identity.dim} dimensions")
    with indexes.session(services.database_url(settings)) as connection:
        if not indexes.claim(connection, space):
            raise Conflict("an index of this space is being built by another process")
        _drop(connection, _invalid(connection, space))
        old = indexes.find(connection, space)
        try:
            workers = max(1, (os.cpu_count() or 1) - 1)
            limit = settings.index_memory_bytes
            if (needed := indexes.prepare(connection, space, memory_bytes=limit, workers=workers)) > limit:
                _LOG.warning("index.slow needed_bytes=%s setting=INDEX_MEMORY_BYTES", needed)
            _create(connection, space, indexed_type, resources, watch, online=online)
        except BaseException:
            _drop(connection, _invalid(connection, space), wait_seconds=_PARTING_SECONDS)
            raise
        _drop(connection, old)
        return indexes.find(connection, space)[0]


def _create(
    connection: Db, space: Space, indexed_type: str, resources: Resources, watch: Watch, *, online: bool
) -> None:
    """Build in a thread and report how far it is; an interrupt ends the build in the server too."""
    with ThreadPoolExecutor(1) as thread:
        building = thread.submit(indexes.create, connection, space, indexed_type, online=online)
        try:
            while not wait([building], _POLL_SECONDS).done:
                with resources.database.read() as other:
                    if progress := indexes.progress(other, space):
                        watch(progress)
        except BaseException:
            connection.cancel_safe()
            raise
        building.result()


def _invalid(connection: Db, space: Space) -> list[Index]:
    return [index for index in indexes.find(connection, space) if not index.valid]


def _drop(connection: Db, found: list[Index], *, wait_seconds: int = 0) -> None:
    for index in found:
        dropped = indexes.drop(connection, index, wait_seconds=wait_seconds)
        _LOG.info("index.dropped name=%s valid=%s dropped=%s", index.name, index.valid, dropped)
