"""Recall by vector and by BM25 over the whole collection; every chunk of the union gets both raw scores."""

import numpy as np

from app.db import documents, filters, lexical, vectors
from app.db.pool import Db
from app.lexical.index import Scored
from app.query import language, nearest
from app.records import Asked, Floats, Ints, Recalled
from app.resources import Resources

_FIRST_BATCH = 2  # times the limit; a filter that is too broad to be listed lets a large part of all chunks pass
_BATCH_GROWTH = 4


def both_paths(asked: Asked, snapshot: Db, resources: Resources) -> Recalled:
    """The union of the top candidates of both paths, as of one snapshot of the database."""
    ranking, collection = asked.question.ranking, asked.collection
    scored = lexical.score(snapshot, collection.id, asked.tokens, resources.segments, k1=ranking.k1, b=ranking.b)
    plan = nearest.plan(asked, snapshot, scored.statistics.live_chunks, resources.settings)
    allowed = nearest.listed(asked, snapshot, plan)
    near, scan = nearest.chunks(asked, snapshot, plan, allowed)
    best = _lexical(asked, snapshot, scored, allowed)
    union = np.union1d(near[0], best)
    labels = documents.labels(snapshot, collection.id, union.tolist())
    return Recalled(
        revision=collection.revision,
        chunk_ids=union,
        cosine=_cosines(asked, snapshot, union, near),
        bm25=scored.of(union),
        coverage=scored.coverage(union),
        vector_rank=_ranks(union, near[0]),
        bm25_rank=_ranks(union, best),
        statistics=scored.statistics,
        labels=labels,
        other_language=language.differs(
            asked.question.text, np.array([labels[i].han_share for i in union.tolist()], np.float64)
        ),
        vector_scan=scan,
    )


def _lexical(asked: Asked, snapshot: Db, scored: Scored, allowed: Ints | None) -> Ints:
    """The chunks of highest BM25 that the filters allow, best first.

    Where those are too many to be listed, the best chunks are checked in growing batches: the first one mostly does.
    """
    wanted, limit, collection_id = asked.question.filters, asked.question.ranking.candidates, asked.collection.id
    if allowed is not None or not wanted.given():
        return scored.top(limit, allowed)
    batch = _FIRST_BATCH * limit
    while True:
        best = scored.top(batch)
        kept = best[np.isin(best, filters.allowed(snapshot, collection_id, wanted, among=best))]
        if len(kept) >= limit or len(best) < batch:
            return kept[:limit]
        batch *= _BATCH_GROWTH


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
