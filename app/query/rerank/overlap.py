"""Rerank without any model: by the question's words in the chunk, and how close together they stand."""

from dataclasses import replace

from app.lexical.overlap import closeness, coverage, term_weights
from app.lexical.tokens import tokens
from app.query.head import Head, spread
from app.records import Asked, Candidates

CLOSENESS_SHARE = 0.2  # the rest is coverage


def judged(candidates: Candidates, head: Head, asked: Asked) -> Candidates:
    """Coverage, and closeness as far as there is coverage: 0 to 1."""
    weights = term_weights(candidates.recalled.statistics)
    held = {i: tokens(head.chunks[i].text, asked.collection.words) for i in head.reranked}
    covered = spread({i: coverage(set(terms), weights) for i, terms in held.items()}, candidates)
    close = spread({i: closeness(terms, weights) for i, terms in held.items()}, candidates)
    score = covered * (1 - CLOSENESS_SHARE + CLOSENESS_SHARE * close)
    return replace(candidates, coverage=covered, rerank_score=score, reranked_by="overlap")
