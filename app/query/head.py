"""Read what the later steps need of the best fused candidates, in the snapshot that found them.

After it no step of a search needs the database, so that a slow reranker holds no connection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from app.db import documents, matches, vectors, windows
from app.db.documents import ChunkDetail
from app.db.pool import Db
from app.db.windows import Window
from app.lexical.lengths import CHARS_PER_TOKEN_MAX
from app.query import duplicates
from app.records import Asked, Candidates, Floats, Match, SpanScore


@dataclass(frozen=True, slots=True)
class Head:
    """`reranked` are the chunks to be reranked, best first.

    By chunk id: `chunks` with their `spans` are all that can be picked, `leaders` the chunk that each of them repeats
    (itself where it repeats none), `windows` the text around them where hits are to grow, and `matches` what the index
    has of them where an explanation is wanted.
    """

    reranked: tuple[int, ...]
    chunks: Mapping[int, ChunkDetail]
    spans: Mapping[int, tuple[SpanScore, ...]]
    leaders: Mapping[int, int]
    windows: Mapping[int, Window]
    matches: Mapping[int, Match]


def read(candidates: Candidates, asked: Asked, snapshot: Db) -> Head:
    """A rerank only lifts the first `rerank_depth` over the others: what is picked is among them or the first of the
    fused order, as many as hold `top_k` that do not repeat each other."""
    ranking, collection = asked.question.ranking, asked.collection
    best_first: list[int] = candidates.recalled.chunk_ids[candidates.fused_rank.argsort()].tolist()
    chunks, leaders = _pickable(best_first, candidates, asked, snapshot)
    spans = vectors.span_scores(snapshot, collection, asked.vector, list(chunks))
    reach = ranking.expand_tokens * CHARS_PER_TOKEN_MAX
    return Head(
        reranked=tuple(best_first[: ranking.rerank_depth]),
        chunks=chunks,
        spans={chunk_id: tuple(group) for chunk_id, group in groupby(spans, attrgetter("chunk_id"))},
        leaders=leaders,
        windows=windows.around(snapshot, collection.id, list(chunks), reach) if reach else {},
        matches=matches.of_terms(snapshot, collection.id, list(chunks), asked.tokens) if asked.question.explain else {},
    )


def _pickable(
    best_first: Sequence[int], candidates: Candidates, asked: Asked, snapshot: Db
) -> tuple[Mapping[int, ChunkDetail], Mapping[int, int]]:
    """The chunks that can be picked and their leaders; mostly one statement reads them all."""
    ranking, bm25 = asked.question.ranking, candidates.recalled.bm25[candidates.fused_rank.argsort()]
    depth = max(ranking.rerank_depth, ranking.top_k)
    chunks: dict[int, ChunkDetail] = {}
    read: Sequence[int] = ()
    leads: list[int] = []
    while len(read) < len(best_first) and len(set(leads)) < ranking.top_k:
        read = best_first[: len(read) + depth]
        chunks |= documents.details(snapshot, asked.collection.id, read[len(chunks) :])
        texts = [chunks[i].text for i in read]
        leads = (
            duplicates.leaders(texts, bm25[: len(read)], asked.question.text)
            if ranking.collapse_duplicates
            else list(range(len(read)))
        )
    return chunks, {i: read[lead] for i, lead in zip(read, leads, strict=True)}


def spread(scores: Mapping[int, float], candidates: Candidates) -> Floats:
    """Scores by chunk id as an array over all candidates (n,), NaN where there is none."""
    return np.array([scores.get(i, np.nan) for i in candidates.recalled.chunk_ids.tolist()], np.float64)
