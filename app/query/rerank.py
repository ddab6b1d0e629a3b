"""Rerank the best fused candidates by their best span: a chunk's vector blurs its sentences."""

from dataclasses import replace

import numpy as np

from app.db import vectors
from app.db.pool import Db
from app.query import fuse
from app.records import Asked, Candidates, Floats, Ranking


def by_spans(candidates: Candidates, asked: Asked, snapshot: Db) -> Candidates:
    """Add the normalised cosine of the best span to the fused score, over the first `rerank_depth` candidates."""
    ranking = asked.question.ranking
    head = np.flatnonzero(candidates.fused_rank <= ranking.rerank_depth)
    if asked.vector is None or not len(head):
        return candidates
    best = vectors.best_spans(snapshot, asked.collection, asked.vector, candidates.recalled.chunk_ids[head])
    span_cosine = np.full(len(candidates.fused), np.nan)
    span_cosine[head] = best
    return reranked(candidates, span_cosine, ranking)


def reranked(candidates: Candidates, span_cosine: Floats, ranking: Ranking) -> Candidates:
    """`fused + weight * minmax(span_cosine)`; NaN adds nothing, so what lies below the depth keeps its fused score."""
    score = candidates.fused + ranking.rerank_weight * fuse.minmax(span_cosine)
    rank = fuse.ranks(score, candidates.recalled.chunk_ids)
    return replace(candidates, span_cosine=span_cosine, score=score, rank=rank)
