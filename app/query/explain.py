"""Say how a search came to its hits, from the data of that search: nothing is searched or read again.

`ragledger_audit.explain`, `.paths` and `.terms` give the same in SQL, from the ledger and the tables.
"""

from dataclasses import asdict

import numpy as np

from app.lexical import bm25
from app.lexical.overlap import coverage, term_weights
from app.lexical.tokens import tokenizer, tokens
from app.query import fuse
from app.query.ledger import Found
from app.query.rerank import spans
from app.records import (
    Candidates,
    Collapse,
    CollapseExplanation,
    CollapseReason,
    Explanation,
    Floats,
    Hit,
    HitExplanation,
    LexicalStatistics,
    Match,
    PathExplanation,
    Ranking,
    SpanExplanation,
    TermExplanation,
)


def explained(found: Found) -> Explanation:
    """Everything that decided what was found. Wants `found.matches`."""
    candidates, ranking = found.candidates, found.asked.question.ranking
    recalled = candidates.recalled
    return Explanation(
        tokenizer=tokenizer(found.asked.collection.words),
        tokens=found.asked.tokens,
        vector_scan=recalled.vector_scan,
        parameters=asdict(ranking),
        statistics=recalled.statistics,
        best_bm25=float(recalled.bm25.max(initial=0.0)),
        confidence=candidates.confidence,
        paths=_paths(candidates, ranking),
        hits=tuple(_hit(hit, found) for hit in found.picked.hits),
        collapses=_collapses(found),
    )


def _paths(candidates: Candidates, ranking: Ranking) -> tuple[PathExplanation, ...]:
    recalled = candidates.recalled
    v, b = fuse.weights(ranking, candidates.confidence)
    judged = int(np.isfinite(candidates.rerank_score).sum())
    on_list = [int((ranks > 0).sum()) for ranks in (recalled.vector_rank, recalled.bm25_rank)]
    return (
        PathExplanation("vector", ranking.fusion, v, *_bounds(recalled.cosine, on_list[0])),
        PathExplanation("bm25", ranking.fusion, b, *_bounds(recalled.bm25, on_list[1])),
        PathExplanation("rerank", ranking.reranker, ranking.rerank_weight, *_bounds(candidates.rerank_score, judged)),
    )


def _bounds(scores: Floats, listed: int) -> tuple[int, int, float | None, float | None, float | None, float | None]:
    """(known, listed, low, high, mean, deviation)."""
    known = scores[np.isfinite(scores)]
    if not len(known):
        return 0, listed, None, None, None, None
    return len(known), listed, float(known.min()), float(known.max()), float(known.mean()), float(known.std())


def _hit(hit: Hit, found: Found) -> HitExplanation:
    candidates, ranking = found.candidates, found.asked.question.ranking
    n = int(np.searchsorted(candidates.recalled.chunk_ids, hit.chunk_id))
    v, b = fuse.weights(ranking, candidates.confidence)
    match, statistics = found.matches.get(hit.chunk_id), candidates.recalled.statistics
    return HitExplanation(
        chunk_id=hit.chunk_id,
        vector_rank=hit.vector_rank,
        bm25_rank=hit.bm25_rank,
        fused_rank=int(candidates.fused_rank[n]),
        reranked_rank=int(candidates.rank[n]),
        final_rank=hit.rank,
        vector_part=v * hit.vector_norm,
        bm25_part=b * hit.bm25_norm,
        rerank_part=hit.score - hit.fused,
        other_language=bool(candidates.recalled.other_language[n]),
        length=match.length if match else None,
        terms=_terms(match, statistics, ranking) if match else (),
        best_span=_best_span(hit, found, statistics),
    )


def _terms(match: Match, statistics: LexicalStatistics, ranking: Ranking) -> tuple[TermExplanation, ...]:
    """What each term adds, most first."""
    held = [term for term in statistics.terms if term.term in match.frequencies]
    length = np.array([match.length])
    made = [
        TermExplanation(
            term=term.term,
            count=term.count,
            tf=(tf := match.frequencies[term.term]),
            df=term.df,
            idf=term.idf,
            score=term.count * float(bm25.term_scores(
                np.array([tf]), length, idf=term.idf, mean_length=statistics.mean_length, k1=ranking.k1, b=ranking.b
            )[0]),
        )
        for term in held
    ]  # fmt: skip
    return tuple(sorted(made, key=lambda term: (-term.score, term.term)))


def _best_span(hit: Hit, found: Found, statistics: LexicalStatistics) -> SpanExplanation | None:
    span = spans.best(found.spans.get(hit.chunk_id, ()))
    if span is None or span.cosine is None:
        return None
    text = hit.text[span.start_char : span.end_char]
    covered = coverage(set(tokens(text, found.asked.collection.words)), term_weights(statistics))
    return SpanExplanation(span.start_char, span.end_char, text, span.cosine, covered)


def _collapses(found: Found) -> tuple[CollapseExplanation, ...]:
    ids = found.candidates.recalled.chunk_ids
    rank = dict(zip(ids.tolist(), found.candidates.rank.tolist(), strict=True))
    made = [
        CollapseExplanation(
            chunk_id=chunk_id,
            rank=rank[chunk_id],
            into=collapse.into,
            reason=_reason(chunk_id, collapse, found),
            resemblance=collapse.resemblance,
        )
        for chunk_id, collapse in found.picked.collapses.items()
        if chunk_id in rank
    ]
    return tuple(sorted(made, key=lambda collapse: collapse.rank))


def _reason(chunk_id: int, collapse: Collapse, found: Found) -> CollapseReason:
    if collapse.resemblance is None:
        return "part of its passage"
    labels = found.candidates.recalled.labels
    same = labels[chunk_id].text_sha256 == labels[collapse.into].text_sha256
    return "equal text" if same else "near duplicate"
