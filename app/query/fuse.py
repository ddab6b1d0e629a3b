"""Make one ranking of two scores of unlike scale. Pure functions over the complete scores of the union."""

import numpy as np

from app.records import Candidates, Floats, Ints, Ranking, Recalled

_ROUNDING = 1e-12


def weighted(recalled: Recalled, ranking: Ranking) -> Candidates:
    """Weighted sum of min-max normalised scores, the BM25 side further multiplied by lexical confidence.

    Source of the normalised sum: Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023.
    """
    confidence = lexical_confidence(recalled, ranking.confidence_c0)
    vector_norm, bm25_norm = minmax(recalled.cosine), minmax(recalled.bm25)
    fused = ranking.vector_weight * vector_norm + ranking.bm25_weight * confidence * bm25_norm
    order = ranks(fused, recalled.chunk_ids)
    return Candidates(
        recalled=recalled,
        vector_norm=vector_norm,
        bm25_norm=bm25_norm,
        confidence=confidence,
        fused=fused,
        fused_rank=order,
        span_cosine=np.full(len(fused), np.nan),
        score=fused,
        rank=order,
    )


def lexical_confidence(recalled: Recalled, c0: float) -> float:
    """min(1, c / c0), where c is the best BM25 over the highest that the question could reach; in [0, 1].

    Plain min-max lifts the best of nothing but noise to 1.0; a question none of whose rare words occur should not
    be ranked by its "of" and "the".
    """
    if not len(recalled.bm25) or recalled.statistics.bound <= 0:
        return 0.0
    return min(1.0, float(recalled.bm25.max()) / recalled.statistics.bound / c0)


def minmax(scores: Floats) -> Floats:
    """Scale (n,) to [0, 1] over its finite values; NaN becomes 0.0. Equal scores, or a single one, become 1.0.

    Scores that differ only by rounding count as equal: the same sum in another order must not become 0 and 1.
    """
    known = np.isfinite(scores)
    if not known.any():
        return np.zeros(len(scores))
    low, high = scores[known].min(), scores[known].max()
    if high - low <= _ROUNDING * max(abs(high), abs(low), 1.0):
        return known.astype(np.float64)
    return np.where(known, (scores - low) / (high - low), 0.0)


def ranks(scores: Floats, chunk_ids: Ints) -> Ints:
    """Ranks from 1 by falling score (n,); ties go to the smaller chunk id."""
    order = np.lexsort((chunk_ids, -scores))
    result = np.empty(len(scores), np.int64)
    result[order] = np.arange(1, len(scores) + 1)
    return result
