"""Rerank without any model: by the question's words in the chunk, and how close together they stand."""

from dataclasses import replace

from app.lexical.overlap import closeness
from app.lexical.tokens import tokens
from app.query.head import Head, spread
from app.records import Asked, Candidates

CLOSENESS_SHARE = 0.2  # the rest is coverage


def judged(candidates: Candidates, head: Head, asked: Asked) -> Candidates:
    """Coverage, and closeness as far as there is coverage: 0 to 1."""
    asked_for = {term.term for term in candidates.recalled.statistics.terms}
    held = {i: tokens(head.chunks[i].text, asked.collection.words) for i in head.reranked}
    close = spread({i: closeness(terms, asked_for) for i, terms in held.items()}, candidates)
    score = candidates.recalled.coverage * (1 - CLOSENESS_SHARE + CLOSENESS_SHARE * close)
    return replace(candidates, rerank_score=score, reranked_by="overlap")
