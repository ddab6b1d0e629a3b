"""Give a collection another embedding model online: beside the old one, then switched at once.

The new vectors are written to a space of their own, in short transactions. What is missing is found by an anti-join, so
whatever ends this process, the next one goes on where it was. Searches and writers stay in the old space until one
transaction switches them; a writer that made its vectors before it and commits after it is refused by
`collections.require_space` and makes them again, a question by `understand.tokenized`.
"""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from app import services
from app.clients.embedder import probes
from app.db import collections, indexes, reembeddings, spaces, vectors
from app.db.indexes import Progress
from app.db.pool import Db
from app.errors import Conflict, EmbeddingFailed, RagledgerError
from app.ingest import embed, index, retire
from app.records import Chunk, Collection, ModelIdentity, Space
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_BATCH_CHUNKS = 64  # with their spans some hundred texts: what a crash costs
_FEW_CHUNKS = 20  # embedded under the lock, while writers wait
_SWITCHES = 100  # attempts, each after what writers added meanwhile was embedded, and with more under the lock

Watch = Callable[[Progress], None]
Check = Callable[[Collection, Collection], None]  # the collection as it is, and as it will be; raises to refuse


def reembed(
    name: str, identity: ModelIdentity, resources: Resources, watch: Watch, check: Check = lambda _old, _new: None
) -> bool:
    """Change a collection's model. False where it has that one. What `watch` or `check` raises ends it; run again, it
    goes on.

    Raises CollectionNotFound, EmbedderUnavailable, EmbeddingFailed, and Conflict where another change is under way.
    """
    with _claimed(name, resources) as collection:
        target = _begun(collection, identity, resources)
        if changes := target.space.id != collection.space.id:
            _Change(collection, target, resources, watch).make(check)
            _LOG.info("reembed.done collection=%s space=%s", collection.id, target.space.id)
        retire.leftovers(collection.id, resources)
    return changes


def abandon(name: str, resources: Resources) -> bool:
    """Give a change up and remove its vectors. False where none was under way. Raises CollectionNotFound, Conflict."""
    with _claimed(name, resources) as collection:
        with resources.database.write(visible=False) as connection:
            spaces.lock(connection)
            if space := reembeddings.find(connection, collection.id):
                reembeddings.end(connection, replace(collection, space=space))
        retire.leftovers(collection.id, resources)
    return space is not None


@contextmanager
def _claimed(name: str, resources: Resources) -> Iterator[Collection]:
    """The collection, whose model no other process changes until the end."""
    with resources.database.read() as connection:
        collection = collections.get(connection, name)
    with indexes.session(services.database_url(resources.settings)) as session:
        if not reembeddings.claim(session, collection.id):
            raise Conflict(f"another process is at the model of {name}")
        with resources.database.read() as connection:
            collection = collections.current(connection, collection)
        yield collection


def _begun(collection: Collection, identity: ModelIdentity, resources: Resources) -> Collection:
    """The collection as it will be, its change under way. Raises Conflict where it is to become another."""
    with resources.database.read() as connection:
        under_way = reembeddings.find(connection, collection.id)
    if under_way and under_way.identity != identity:
        raise Conflict(
            f"{collection.name} is being changed to {under_way.identity.model} of {under_way.identity.backend}: "
            "finish that with the same options, or give it up with --abandon"
        )
    if under_way is None and collection.space.identity == identity:
        return collection
    vectors_of_probes = probes.fingerprint(resources.backends.of(identity, None))
    with resources.database.write(visible=False) as connection:
        space = spaces.ensure(connection, Space(0, identity, vectors_of_probes), state="building")
        collections.hold(connection, collection.id)
        target = replace(collection, space=space)
        reembeddings.begin(connection, target)
    return target


class _Change:
    """A change that is under way. `target` is the collection as it will be."""

    def __init__(self, collection: Collection, target: Collection, resources: Resources, watch: Watch) -> None:
        self._collection = collection
        self._target = target
        self._resources = resources
        self._watch = watch

    def make(self, check: Check) -> None:
        self._embed_missing()
        if index.state(self._target, self._resources).due:
            index.build(self._target.space, self._resources, self._watch)
            self._embed_missing()
        with self._resources.database.write(visible=False, unhurried=True) as connection:
            spaces.analyze(connection, self._target.space)  # or the proofs below are planned for an empty table
        self._require_whole()
        check(self._collection, self._target)
        for attempt in range(1, _SWITCHES + 1):
            if self._switched(at_most=attempt * _FEW_CHUNKS):
                return
            self._embed_missing()
        raise Conflict("documents come faster than they can be embedded; nothing is lost, run the same again")

    def _embed_missing(self) -> None:
        """Embed what has no vector, then what writers added meanwhile, until that is little or does not get less."""
        before = sys.maxsize
        while _FEW_CHUNKS < (found := self._round()) < before:
            before = found

    def _round(self) -> int:
        """Embed every chunk without a vector that is there now. Returns how many there were."""
        with self._resources.database.read() as connection:
            known, done = reembeddings.counts(connection, self._target)
            newest = reembeddings.newest(
                connection, self._target
            )  # later ones are for the next round, or none would end
        found, after = 0, 0
        self._watch(Progress("embedding", done, known))
        while batch := self._page(after, newest):
            found, after = found + len(batch), max(batch)
            self._embed(batch)
            self._watch(Progress("embedding", min(done + found, known), known))
        return found

    def _page(self, after: int, newest: int) -> Mapping[int, Chunk]:
        with self._resources.database.read() as connection:
            return reembeddings.page(connection, self._target, after=after, newest=newest, limit=_BATCH_CHUNKS)

    def _embed(self, batch: Mapping[int, Chunk]) -> None:
        embedded = self._embedded(batch)
        with self._resources.database.write(visible=False) as connection:
            collections.hold(connection, self._target.id)
            _write(connection, list(batch), embedded, self._target)

    def _embedded(self, batch: Mapping[int, Chunk]) -> embed.Embedded:
        """Raises EmbeddingFailed naming the chunk that the model makes no vector of."""
        try:
            return embed.embed([list(batch.values())], self._target, self._resources)[0]
        except EmbeddingFailed:
            for chunk_id, chunk in batch.items():
                try:
                    embed.embed([[chunk]], self._target, self._resources)
                except EmbeddingFailed as e:
                    raise EmbeddingFailed(f"chunk {chunk_id}: {e}") from e
            raise

    def _require_whole(self) -> None:
        """What writers add from here on is written whole, so that under the lock only chunks need to be looked at."""
        with self._resources.database.read() as connection:
            half = reembeddings.half_embedded(connection, self._target)
        if half:
            raise RagledgerError(f"{half} spans have no vector although their chunks have one; run the same again")

    def _switched(self, *, at_most: int) -> bool:
        """Switch, where few chunks are missing: they are embedded while writers wait. False where more are."""
        with self._resources.database.write(unhurried=True) as connection:
            spaces.lock(connection)
            collections.hold(connection, self._target.id)
            collections.lock(connection, self._target.id)
            late = reembeddings.without_vector(connection, self._target, limit=at_most + 1)
            if len(late) > at_most:
                return False
            if late:
                _write(connection, list(late), self._embedded(late), self._target)
                if reembeddings.without_vector(connection, self._target, limit=1):
                    return False  # one is being deleted by a writer that waits for this transaction
            reembeddings.switch(connection, self._collection, self._target)
        return True


def _write(connection: Db, chunk_ids: list[int], embedded: embed.Embedded, target: Collection) -> None:
    """Write the vectors of those chunks that are still there, in place of any that they have."""
    held = reembeddings.hold_chunks(connection, target.id, chunk_ids)
    kept = [n for n, chunk_id in enumerate(chunk_ids) if chunk_id in held]
    ids = [chunk_ids[n] for n in kept]
    vectors.remove(connection, target.id, target.space.id, ids)
    vectors.add(connection, target, ids, [embedded.vectors[n] for n in kept])
    spans = [(chunk_ids[n], ordinal) for n in kept for ordinal in range(len(embedded.span_vectors[n]))]
    vectors.add_spans(connection, target, spans, [vector for n in kept for vector in embedded.span_vectors[n]])
