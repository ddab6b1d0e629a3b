"""Rerank the best fused candidates. One method, one file; here they are chosen and their scores added.

    score = fused + rerank_weight * minmax(rerank_score)

over the first `rerank_depth` candidates; the others keep their fused score. What `rerank_score` is, and so the scale of
`rerank_min_score`:

| reranker      | rerank_score                                                        | scale                     |
|---------------|---------------------------------------------------------------------|---------------------------|
| spans         | span_cosine + rerank_coverage_weight * coverage, see `spans.score`  | a cosine's, by the model  |
| overlap       | coverage * (0.8 + 0.2 * closeness of the question's terms)          | 0 to 1                    |
| cross-encoder | sigmoid of the model's logit                                        | 0 to 1                    |
| http          | the server's score                                                  | the server's, mostly 0..1 |
| none          | nothing                                                             |                           |

`coverage` is the share of the question's terms, by count times idf, that the chunk holds; it is read from the index,
as BM25 is. The span cosines are read whatever the method: refusals and quotes need them.
"""

import logging
from dataclasses import replace

import numpy as np

from app.errors import RerankerUnavailable, RerankingFailed
from app.query import fuse
from app.query.head import Head
from app.query.rerank import model, overlap, spans
from app.records import Asked, Candidates, Ranking
from app.resources import Resources

_LOG = logging.getLogger(__name__)


def reorder(
    candidates: Candidates, head: Head, asked: Asked, resources: Resources
) -> tuple[Candidates, tuple[str, ...]]:
    """The candidates with their final scores and ranks, and what was away: then the order stays the fused one."""
    candidates = spans.attached(candidates, head)
    try:
        return ranked(_judged(candidates, head, asked, resources), asked.question.ranking), ()
    except (RerankerUnavailable, RerankingFailed) as e:
        _LOG.warning("search.degraded part=rerank error=%s detail=%s", type(e).__name__, e)
        return candidates, ("rerank",)


def _judged(candidates: Candidates, head: Head, asked: Asked, resources: Resources) -> Candidates:
    name = asked.question.ranking.reranker
    if name == "spans":
        score = spans.score(candidates, asked.question.ranking)
        return replace(candidates, rerank_score=score, reranked_by=name)
    if name == "overlap":
        return overlap.judged(candidates, head, asked)
    chosen = resources.reranker(name)
    return model.judged(candidates, head, asked, chosen) if chosen else candidates


def ranked(candidates: Candidates, ranking: Ranking) -> Candidates:
    """`fused + weight * minmax(rerank_score)`; NaN adds nothing, so what lies below the depth keeps its fused score."""
    if np.isnan(candidates.rerank_score).all():
        return replace(candidates, reranked_by="")
    score = candidates.fused + ranking.rerank_weight * fuse.minmax(candidates.rerank_score)
    return replace(candidates, score=score, rank=fuse.ranks(score, candidates.recalled.chunk_ids))
