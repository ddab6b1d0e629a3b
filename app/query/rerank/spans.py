"""A chunk's vector blurs its sentences: rerank it by the best of its spans."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from app.query import fuse
from app.query.head import Head, spread
from app.records import Candidates, Floats, Ranking, SpanScore


def attached(candidates: Candidates, head: Head) -> Candidates:
    """The candidates with the cosine of their best span."""
    cosines = {i: span.cosine for i, span in _best(head).items() if span.cosine is not None}
    return replace(candidates, span_cosine=spread(cosines, candidates))


def score(candidates: Candidates, ranking: Ranking) -> Floats:
    """(n,) `span_cosine` plus the weighted share of the question's words that the chunk holds; NaN without a span.

    The words of the whole chunk, which the index knows: those of its best span alone rank no better, and would have to
    be made by the tokenizer, which takes time and which SQL cannot recompute. A chunk in another language than the
    question's hardly can hold its words: its normalised span cosine is the least that it counts as covering.
    """
    recalled = candidates.recalled
    least = np.where(recalled.other_language, fuse.minmax(candidates.span_cosine), 0.0)
    return candidates.span_cosine + ranking.rerank_coverage_weight * np.maximum(recalled.coverage, least)


def best(spans: Iterable[SpanScore]) -> SpanScore | None:
    """The span of highest cosine, of equal ones the first; None where no span has a cosine."""
    known = [span for span in spans if span.cosine is not None]
    return max(known, key=lambda span: span.cosine or 0.0, default=None)


def _best(head: Head) -> Mapping[int, SpanScore]:
    """The best span of each chunk to be reranked that has one."""
    found = {i: best(head.spans.get(i, ())) for i in head.reranked}
    return {i: span for i, span in found.items() if span}
