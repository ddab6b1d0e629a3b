"""Make a collection's index anew where its words or the tokenizer changed: beside the old one, then switched at once.

All of it is one transaction. Until it commits nobody sees the new segments, and if this process or the server dies
before, there are none. Searches and writers go on meanwhile; what they add and bury is carried over at the end, under
the collection's lock. A writer that made its tokens with the old words and commits after the switch is refused by
`lexicon.require` and makes them again.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

import numpy as np

from app.db import collections, documents, lexicon, postings
from app.db.pool import Db
from app.ingest import compact, cores
from app.lexical import segments
from app.lexical.tokens import tokenizer
from app.records import Ints, WordList
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_READ_CHUNKS = 500
_SEGMENT_CHARS = 1_000_000  # of one new segment: 200 MB while it is made, in each process that makes one
_ROUNDS = 10
_FEW_CHUNKS = 50  # made under the lock, while writers wait

Progress = Callable[[int, int], None]  # chunks done, chunks known


def retokenize(collection_id: int, resources: Resources, progress: Progress = lambda _done, _all: None) -> bool:
    """Bring a collection's index up to date. False where it was. What `progress` raises ends it, with no trace.

    Waits for a compaction or another one of these. Raises CollectionNotFound where the collection is deleted.
    """
    with resources.database.write(unhurried=True) as connection:
        collections.hold(connection, collection_id)
        lexicon.await_compaction(connection, collection_id)
        if all(state.current for state in lexicon.states(connection, collection_id)):
            return False
        words = lexicon.wanted(connection, collection_id)
        _Anew(connection, collection_id, words, progress).replace()
    _LOG.info("retokenize.done collection=%s tokenizer=%s", collection_id, tokenizer(words))
    compact.tidy(collection_id, resources)
    return True


class _Anew:
    """The new segments of a collection, within the transaction that will put them in the place of the old ones."""

    def __init__(self, connection: Db, collection_id: int, words: WordList, progress: Progress) -> None:
        self._connection = connection
        self._collection_id = collection_id
        self._words = words
        self._progress = progress
        self._made: dict[int, Ints] = {}  # segment id -> its chunks

    def replace(self) -> None:
        for _ in range(_ROUNDS):
            if not self._add_missing(at_least=_FEW_CHUNKS):
                break  # else go after what writers added meanwhile, before they have to wait
        collections.lock(self._connection, self._collection_id)
        self._add_missing()
        self._bury_gone()
        postings.retire(self._connection, self._collection_id, self._old())
        lexicon.keep(self._connection, self._words)
        lexicon.put_in_effect(self._connection, self._collection_id, self._words)
        collections.bump(self._connection, self._collection_id)

    def _old(self) -> list[int]:
        return [s.id for s in postings.segments(self._connection, self._collection_id) if s.id not in self._made]

    def _live(self) -> Ints:
        """The chunks that the old segments hold now, ascending."""
        if not (ids := self._old()):
            return np.empty(0, np.int64)
        chunks = postings.chunks(self._connection, self._collection_id, ids)
        dead = postings.tombstones(self._connection, self._collection_id, ids)
        return segments.merge_chunks([chunks[i] for i in ids], [dead[i] for i in ids])[0].chunk_ids

    def _add_missing(self, at_least: int = 1) -> bool:
        """Tokenise the chunks that no new segment has, where there are so many. Returns whether there were."""
        live = self._live()
        done = np.concatenate([np.empty(0, np.int64), *self._made.values()])
        missing = np.setdiff1d(live, done)
        if len(missing) < at_least:
            return False
        with closing(cores.segments(self._batches(missing), self._words)) as made:
            for segment in made:
                segment_id = postings.add(self._connection, self._collection_id, segment, tokenizer(self._words))
                self._made[segment_id] = segment.chunks.chunk_ids
                self._progress(sum(map(len, self._made.values())), len(live))
        return True

    def _batches(self, chunk_ids: Ints) -> Iterator[Mapping[int, str]]:
        """The texts of chunks, as many at once as make one segment; those deleted meanwhile are left out."""
        batch: dict[int, str] = {}
        for start in range(0, len(chunk_ids), _READ_CHUNKS):
            some = chunk_ids[start : start + _READ_CHUNKS].tolist()
            batch |= documents.texts_of(self._connection, self._collection_id, some)
            if sum(map(len, batch.values())) >= _SEGMENT_CHARS:
                yield batch
                batch = {}
        if batch:
            yield batch

    def _bury_gone(self) -> None:
        """Bury in the new segments what was deleted or disabled while they were made."""
        live = self._live()
        for segment_id, chunk_ids in self._made.items():
            gone = np.flatnonzero(~np.isin(chunk_ids, live))
            if len(gone):
                postings.bury_ordinals(self._connection, self._collection_id, segment_id, gone.tolist())
