"""Recall by vector and by BM25 over the whole collection; every chunk of the union gets both raw scores."""

import numpy as np

from app.db import collections, postings, vectors
from app.db.pool import Db
from app.errors import CollectionNotFound
from app.lexical import segments
from app.records import Asked, Collection, Floats, Ints, Recalled
from app.resources import Resources


def both_paths(asked: Asked, snapshot: Db, resources: Resources) -> Recalled:
    """The union of the top candidates of both paths, as of one snapshot of the database."""
    ranking, collection = asked.question.ranking, asked.collection
    revision = _revision(collection, snapshot)
    near = _nearest(asked, snapshot)
    scored = segments.score(
        asked.tokens,
        postings.load(snapshot, collection.id, asked.tokens, resources.segments),
        k1=ranking.k1,
        b=ranking.b,
    )
    lexical = scored.chunk_ids[scored.top(ranking.candidates)]
    union = np.union1d(near[0], lexical)
    return Recalled(
        revision=revision,
        chunk_ids=union,
        cosine=_cosines(asked, snapshot, union, near),
        bm25=scored.of(union),
        vector_rank=_ranks(union, near[0]),
        bm25_rank=_ranks(union, lexical),
        statistics=scored.statistics,
    )


def _revision(collection: Collection, snapshot: Db) -> int:
    """Of the collection that the question was understood for, and not of one that has its name by now."""
    now = collections.get(snapshot, collection.name)
    if now.id != collection.id:
        raise CollectionNotFound("the collection was deleted meanwhile")
    return now.revision


def _nearest(asked: Asked, snapshot: Db) -> tuple[Ints, Floats]:
    if asked.vector is None:
        return np.empty(0, np.int64), np.empty(0)
    return vectors.nearest(snapshot, asked.collection, asked.vector, asked.question.ranking.candidates)


def _cosines(asked: Asked, snapshot: Db, union: Ints, near: tuple[Ints, Floats]) -> Floats:
    """The path's own cosines, and by id those of chunks that only BM25 found."""
    cosine = np.full(len(union), np.nan)
    cosine[np.searchsorted(union, near[0])] = near[1]
    missing = np.isnan(cosine)
    if asked.vector is not None and missing.any():
        cosine[missing] = vectors.cosines(snapshot, asked.collection, asked.vector, union[missing])
    return cosine


def _ranks(union: Ints, best_first: Ints) -> Ints:
    ranks = np.zeros(len(union), np.int64)
    ranks[np.searchsorted(union, best_first)] = np.arange(1, len(best_first) + 1)
    return ranks
