"""The extractive answerer: the best-supported spans of the best chunks, quoted to the letter."""

from collections.abc import Mapping, Sequence

import numpy as np

from app.db import vectors
from app.db.pool import Db
from app.lexical.tokens import tokens
from app.query import fuse
from app.records import Asked, Floats, Hit, Quote, Recalled, SpanScore

HITS_READ = 3
QUOTES_MAX = 2
SECOND_AT_LEAST = 0.85  # of the best quote's score: a weaker one is more likely to distract than to help
COSINE_SHARE = 0.5  # the rest is the share of the question's idf that the span covers


def best(hits: Sequence[Hit], recalled: Recalled, asked: Asked, snapshot: Db) -> tuple[Quote, ...]:
    """At most two spans of the first hits, best first; none where there is no hit."""
    read = {hit.chunk_id: hit for hit in hits[:HITS_READ]}
    spans = vectors.span_scores(snapshot, asked.collection, asked.vector, list(read))
    if not spans:
        return ()
    support = _support(spans, read, recalled)
    order = np.argsort(-support, kind="stable")[:QUOTES_MAX]
    chosen = [n for n in order.tolist() if support[n] >= SECOND_AT_LEAST * support[order[0]]]
    return tuple(Quote(read[(s := spans[n]).chunk_id], s.start_char, s.end_char, float(support[n])) for n in chosen)


def _support(spans: Sequence[SpanScore], hits: Mapping[int, Hit], recalled: Recalled) -> Floats:
    """(n,) in [0, 1]: normalised cosine and idf-weighted term coverage in equal parts."""
    texts = [hits[span.chunk_id].text[span.start_char : span.end_char] for span in spans]
    cosine = np.array([np.nan if span.cosine is None else span.cosine for span in spans])
    covered = np.array([coverage(text, recalled) for text in texts])
    if np.isnan(cosine).all():
        return covered
    return COSINE_SHARE * fuse.minmax(cosine) + (1 - COSINE_SHARE) * covered


def coverage(text: str, recalled: Recalled) -> float:
    """The share of the question's idf whose terms stand in the text, in [0, 1]."""
    weights = {term.term: term.count * term.idf for term in recalled.statistics.terms}
    total = sum(weights.values())
    return sum(weights.get(term, 0.0) for term in set(tokens(text))) / total if total else 0.0
