"""Rerank by a model that reads question and chunk together, on this machine or behind HTTP."""

from dataclasses import replace

from app.clients.reranker import Reranker
from app.query.head import Head, spread
from app.records import Asked, Candidates


def judged(candidates: Candidates, head: Head, asked: Asked, reranker: Reranker) -> Candidates:
    """The model's own scores. Raises RerankerUnavailable, RerankingFailed."""
    ids = head.reranked
    scores = reranker.score(asked.question.text, [head.chunks[i].text for i in ids])
    by_chunk = dict(zip(ids, scores.tolist(), strict=True))
    name = f"{asked.question.ranking.reranker} {reranker.identity}"
    return replace(candidates, rerank_score=spread(by_chunk, candidates), reranked_by=name)
