"""A chunk's vector blurs its sentences: rerank it by the best of its spans."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from app.lexical.overlap import coverage, term_weights
from app.lexical.tokens import tokens
from app.query.head import Head, spread
from app.records import Asked, Candidates, Floats, SpanScore


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
    words = {i: set(tokens(text, asked.collection.words)) for i, text in texts.items()}
    shares = spread({i: coverage(terms, weights) for i, terms in words.items()}, candidates)
    judgement = score(candidates.span_cosine, shares, weight)
    return replace(candidates, coverage=shares, rerank_score=judgement, reranked_by="spans")


def score(span_cosine: Floats, coverage: Floats, weight: float) -> Floats:
    """(n,) what the best span says for its chunk: a cosine, and the weighted share of the question's words, 0 to 1."""
    return span_cosine + weight * coverage if weight else span_cosine


def best(spans: Iterable[SpanScore]) -> SpanScore | None:
    """The span of highest cosine, of equal ones the first; None where no span has a cosine."""
    known = [span for span in spans if span.cosine is not None]
    return max(known, key=lambda span: span.cosine or 0.0, default=None)


def _best(head: Head) -> Mapping[int, SpanScore]:
    """The best span of each chunk to be reranked that has one."""
    found = {i: best(head.spans.get(i, ())) for i in head.reranked}
    return {i: span for i, span in found.items() if span}
