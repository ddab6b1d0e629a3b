"""A chunk's vector blurs its sentences: rerank it by the best of its spans."""

from collections.abc import Mapping
from dataclasses import replace

from app.lexical.overlap import coverage, term_weights
from app.lexical.tokens import tokens
from app.query.head import Head, spread
from app.records import Asked, Candidates, SpanScore


def attached(candidates: Candidates, head: Head) -> Candidates:
    """The candidates with the cosine of their best span."""
    cosines = {i: span.cosine for i, span in _best(head).items() if span.cosine is not None}
    return replace(candidates, span_cosine=spread(cosines, candidates))


def judged(candidates: Candidates, head: Head, asked: Asked) -> Candidates:
    """`span_cosine`, plus the weight times the share of the question's words that the same span covers.

    Words are only counted where they have a weight: tokens of 20 spans take longer than all their cosines.
    """
    weight = asked.question.ranking.rerank_coverage_weight
    if not weight:
        return replace(candidates, rerank_score=candidates.span_cosine, reranked_by="spans")
    weights = term_weights(candidates.recalled.statistics)
    texts = {i: head.chunks[i].text[span.start_char : span.end_char] for i, span in _best(head).items()}
    shares = spread(
        {i: coverage(set(tokens(text, asked.collection.words)), weights) for i, text in texts.items()}, candidates
    )
    score = candidates.span_cosine + weight * shares
    return replace(candidates, coverage=shares, rerank_score=score, reranked_by="spans")


def _best(head: Head) -> Mapping[int, SpanScore]:
    """The span of highest cosine of each chunk to be reranked that has one; of equal ones the first."""
    known = {i: [span for span in head.spans.get(i, ()) if span.cosine is not None] for i in head.reranked}
    return {i: max(spans, key=lambda span: span.cosine or 0.0) for i, spans in known.items() if spans}
