"""Remove vectors that no search compares any more: of a model that was replaced, or of a change that was given up.

What cannot be removed now, since a long transaction may still see it, is removed the next time.
"""

import logging
import time

from app.db import collections, spaces, vectors
from app.errors import Conflict
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_BATCH_CHUNKS = 1_000
_WAIT_SECONDS = 60.0  # for transactions that began before
_POLL_SECONDS = 0.2


def leftovers(collection_id: int, resources: Resources) -> bool:
    """Remove a collection's vectors in spaces that it does not use, and every space that nobody uses.

    Returns whether all of it is gone.
    """
    with resources.database.write(visible=False) as connection:
        spaces.lock(connection)
        spaces.retire_unused(connection)
        retired, others = spaces.retired(connection), vectors.other_spaces(connection, collection_id)
    for space_id in others:
        _delete(collection_id, space_id, resources)
    if not retired:
        return True
    dropped = [_dropped(space_id, resources) for space_id in retired] if _unseen(resources) else [False]
    return all(dropped)


def _delete(collection_id: int, space_id: int, resources: Resources) -> None:
    """The partition has vectors of others too: those of this collection are deleted in small transactions."""
    while True:
        with resources.database.write(visible=False) as connection:
            collections.hold(connection, collection_id)
            ids = vectors.some_chunks(connection, collection_id, space_id, limit=_BATCH_CHUNKS)
            if not ids:
                return
            vectors.remove(connection, collection_id, space_id, ids)


def _unseen(resources: Resources) -> bool:
    """Wait until no transaction runs that began before now: it could read the old space, or write to it."""
    with resources.database.read() as connection:
        moment = spaces.moment(connection)
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        with resources.database.read() as connection:
            if not spaces.in_use_since(connection, moment):
                return True
        time.sleep(_POLL_SECONDS)
    _LOG.warning("retire.postponed reason='a transaction is older than %.0f s'", _WAIT_SECONDS)
    return False


def _dropped(space_id: int, resources: Resources) -> bool:
    try:
        with resources.database.write(visible=False, unhurried=True) as connection:
            spaces.drop_partitions(connection, space_id)
    except Conflict as e:
        _LOG.warning("retire.postponed space=%s reason=%r", space_id, str(e))
        return False
    _LOG.info("retire.dropped space=%s", space_id)
    return True
