"""Make one ranking of two scores of unlike scale. Pure functions over the complete scores of the union.

Every method says what each path contributes to a candidate, and weighs the two:

    fused = v * vector_norm + b * bm25_norm

| fusion            | vector_norm               | bm25_norm               | v             | b                        |
|-------------------|---------------------------|-------------------------|---------------|--------------------------|
| minmax_confidence | minmax(cosine)            | minmax(bm25), see below | vector_weight | bm25_weight * confidence |
| minmax            | minmax(cosine)            | minmax(bm25)            | vector_weight | bm25_weight              |
| zscore            | zscore(cosine)            | zscore(bm25)            | vector_weight | bm25_weight              |
| score             | cosine                    | bm25 / bound            | vector_weight | bm25_weight              |
| rrf               | 1 / (rrf_k + vector_rank) | 1 / (rrf_k + bm25_rank) | 1             | 1                        |
| weighted_rrf      | 1 / (rrf_k + vector_rank) | 1 / (rrf_k + bm25_rank) | vector_weight | bm25_weight              |

A cosine that is not known, a rank of 0 (not on that path's list) and a bound of 0 (no term) contribute 0. `confidence`
is `lexical_confidence`, `bound` the BM25 that the question could reach. Ranks go by `fused`, ties to the smaller id.

Confidence ends at the border of a language: a chunk in another one than the question's hardly can hold its words, and
that it does not says nothing. By minmax_confidence its bm25_norm is its vector_norm at least (if vectors weigh at all).
"""

from collections.abc import Callable, Mapping

import numpy as np

from app.records import Candidates, Floats, FusionName, Ints, Ranking, Recalled

_ROUNDING = 1e-12


def weighted(recalled: Recalled, ranking: Ranking) -> Candidates:
    """The weighted sum of what both paths contribute by the chosen method; see the table above."""
    confidence = lexical_confidence(recalled, ranking.confidence_c0)
    vector_norm, bm25_norm = _NORMS[ranking.fusion](recalled, ranking)
    v, b = weights(ranking, confidence)
    fused = v * vector_norm + b * bm25_norm
    order = ranks(fused, recalled.chunk_ids)
    unread = np.full(len(fused), np.nan)
    return Candidates(
        recalled=recalled,
        vector_norm=vector_norm,
        bm25_norm=bm25_norm,
        confidence=confidence,
        fused=fused,
        fused_rank=order,
        span_cosine=unread,
        rerank_score=unread,
        score=fused,
        rank=order,
    )


def weights(ranking: Ranking, confidence: float) -> tuple[float, float]:
    """v and b of the table above."""
    if ranking.fusion == "rrf":
        return 1.0, 1.0
    if ranking.fusion == "minmax_confidence":
        return ranking.vector_weight, ranking.bm25_weight * confidence
    return ranking.vector_weight, ranking.bm25_weight


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
    Source of sums of such scores: Fox and Shaw, Combination of Multiple Searches, TREC-2 1994; over two whole rankings:
    Bruch, Gai, Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023.
    """
    known = np.isfinite(scores)
    if not known.any():
        return np.zeros(len(scores))
    low, high = scores[known].min(), scores[known].max()
    if _equal(low, high):
        return known.astype(np.float64)
    return np.where(known, (scores - low) / (high - low), 0.0)


def zscore(scores: Floats) -> Floats:
    """Scale (n,) to mean 0 and population standard deviation 1 over its finite values; NaN becomes 0.0, the mean.

    Equal scores, or a single one, tell nothing apart and become 0.0. Source: Montague and Aslam, Relevance Score
    Normalization for Metasearch, CIKM 2001 ("zero-mean, unit-variance").
    """
    known = np.isfinite(scores)
    if not known.any() or _equal(scores[known].min(), scores[known].max()):
        return np.zeros(len(scores))
    return np.where(known, (scores - scores[known].mean()) / scores[known].std(), 0.0)


def reciprocal(ranks: Ints, k: int) -> Floats:
    """1 / (k + rank) for ranks (n,) from 1, 0.0 for rank 0. Returns [0, 1 / (k + 1)].

    Source: Cormack, Clarke, Büttcher, Reciprocal Rank Fusion Outperforms Condorcet, SIGIR 2009 (there k = 60).
    """
    return np.where(ranks > 0, 1.0 / (k + ranks), 0.0)


def share_of_bound(bm25: Floats, bound: float) -> Floats:
    """BM25 (n,) as a share of what the question could reach: [0, 1), comparable with a cosine and between questions.

    Raw BM25 grows with the question's length and rare words, so a sum with a cosine would be BM25 alone. After the
    theoretical bounds of Bruch, Gai, Ingber, TOIS 2023, here the upper one; BM25's lower one is 0.
    """
    return bm25 / bound if bound > 0 else np.zeros(len(bm25))


def ranks(scores: Floats, chunk_ids: Ints) -> Ints:
    """Ranks from 1 by falling score (n,); ties go to the smaller chunk id."""
    order = np.lexsort((chunk_ids, -scores))
    result = np.empty(len(scores), np.int64)
    result[order] = np.arange(1, len(scores) + 1)
    return result


def _equal(low: float, high: float) -> bool:
    return bool(high - low <= _ROUNDING * max(abs(high), abs(low), 1.0))


Norms = tuple[Floats, Floats]


def _by_minmax(recalled: Recalled, _: Ranking) -> Norms:
    return minmax(recalled.cosine), minmax(recalled.bm25)


def _by_confidence(recalled: Recalled, ranking: Ranking) -> Norms:
    vector_norm, bm25_norm = _by_minmax(recalled, ranking)
    unjudged = recalled.other_language & (ranking.vector_weight > 0)
    return vector_norm, np.where(unjudged, np.maximum(bm25_norm, vector_norm), bm25_norm)


def _by_zscore(recalled: Recalled, _: Ranking) -> Norms:
    return zscore(recalled.cosine), zscore(recalled.bm25)


def _by_score(recalled: Recalled, _: Ranking) -> Norms:
    return np.nan_to_num(recalled.cosine), share_of_bound(recalled.bm25, recalled.statistics.bound)


def _by_rank(recalled: Recalled, ranking: Ranking) -> Norms:
    return reciprocal(recalled.vector_rank, ranking.rrf_k), reciprocal(recalled.bm25_rank, ranking.rrf_k)


_NORMS: Mapping[FusionName, Callable[[Recalled, Ranking], Norms]] = {
    "minmax_confidence": _by_confidence,
    "minmax": _by_minmax,
    "zscore": _by_zscore,
    "score": _by_score,
    "rrf": _by_rank,
    "weighted_rrf": _by_rank,
}
