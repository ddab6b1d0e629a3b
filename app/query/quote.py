"""The extractive answerer: the best-supported spans of the best chunks, quoted to the letter."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.lexical.overlap import coverage, term_weights
from app.lexical.tokens import tokens
from app.query import fuse
from app.query.duplicates import Comparable, duplicate
from app.records import NO_WORDS, Floats, Hit, LexicalStatistics, Quote, SpanScore, WordList

HITS_READ = 3
QUOTES_MAX = 2
SECOND_AT_LEAST = 0.85  # of the best quote's score: a weaker one is more likely to distract than to help
COSINE_SHARE = 0.5  # the rest is the share of the question's terms that the span covers
HEADING_WORTH = 0.1  # a heading alone names the answer and does not give it
_HEADING = re.compile(r"#{1,6}[ \t][^\n]*")
LIST_MAX_CHARS = 600
_MARK = r"[ \t]*(?:\d{1,3}[.)、]|[-*+•])[ \t]*"
_ITEM = re.compile(_MARK)
_LIST = re.compile(rf"(?:\s*\n{_MARK}[^\n]+)+")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the first hits hold: at most two quotes, best first, and the `coverage` of the question's terms, 0 to 1,
    by the hit that covers most of them."""

    quotes: tuple[Quote, ...]
    coverage: float


def best(
    hits: Sequence[Hit],
    spans_of: Mapping[int, Sequence[SpanScore]],
    statistics: LexicalStatistics,
    own_words: WordList = NO_WORDS,
) -> Evidence:
    """The best of the first hits' spans, given by chunk id; nothing where there is no hit."""
    read = {hit.chunk_id: hit for hit in hits[:HITS_READ]}
    spans = [span for chunk_id in read for span in spans_of.get(chunk_id, ())]
    if not spans:
        return Evidence((), 0.0)
    weights = term_weights(statistics)
    words = [set(tokens(_text(span, read), own_words)) & weights.keys() for span in spans]
    support = _support(spans, words, weights)
    support[[_HEADING.fullmatch(_text(s, read)) is not None for s in spans]] *= HEADING_WORTH
    chosen = _chosen(support, [_text(span, read) for span in spans])
    quotes = tuple(_quote(read[spans[n].chunk_id], spans[n], float(support[n])) for n in chosen)
    of_hit = {i: set().union(*(w for s, w in zip(spans, words, strict=True) if s.chunk_id == i)) for i in read}
    return Evidence(quotes, max(coverage(terms, weights) for terms in of_hit.values()))


def _chosen(support: Floats, texts: Sequence[str]) -> list[int]:
    """The spans to quote, best first: near the best one's support, and none that repeats a better one."""
    chosen: list[tuple[int, Comparable]] = []
    for n in np.argsort(-support, kind="stable").tolist():
        if len(chosen) == QUOTES_MAX or (chosen and support[n] < SECOND_AT_LEAST * support[chosen[0][0]]):
            break
        text = Comparable(texts[n])
        if not any(duplicate(text, better) for _, better in chosen):
            chosen.append((n, text))
    return [n for n, _ in chosen]


def _quote(hit: Hit, span: SpanScore, score: float) -> Quote:
    """The span, and where it leads into a list or ends within one, the rest of the list."""
    rest = _LIST.match(hit.text, span.end_char)
    lead_in = hit.text[span.start_char : span.end_char]
    if rest and (lead_in.endswith((":", "：")) or _ITEM.match(lead_in.rpartition("\n")[2])):
        return Quote(hit, span.start_char, min(rest.end(), span.end_char + LIST_MAX_CHARS), score)
    return Quote(hit, span.start_char, span.end_char, score)


def _support(spans: Sequence[SpanScore], words: Sequence[set[str]], weights: Mapping[str, float]) -> Floats:
    """(n,) in [0, 1]: normalised cosine and term coverage in equal parts."""
    cosine = np.array([np.nan if span.cosine is None else span.cosine for span in spans])
    covered = np.array([coverage(terms, weights) for terms in words])
    if np.isnan(cosine).all():
        return covered
    return COSINE_SHARE * fuse.minmax(cosine) + (1 - COSINE_SHARE) * covered


def _text(span: SpanScore, hits: Mapping[int, Hit]) -> str:
    return hits[span.chunk_id].text[span.start_char : span.end_char]
