"""Read what the later steps need of the best fused candidates, in the snapshot that found them.

After it no step of a search needs the database, so that a slow reranker holds no connection.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from app.db import documents, vectors
from app.db.documents import ChunkDetail
from app.db.pool import Db
from app.records import Asked, Candidates, Floats, SpanScore


@dataclass(frozen=True, slots=True)
class Head:
    """`reranked` are the chunks to be reranked, best first.

    By chunk id: `chunks` and their `spans` are all that can be picked; `labels` (sha-256 of the text, source) are those
    of every candidate.
    """

    reranked: tuple[int, ...]
    chunks: Mapping[int, ChunkDetail]
    spans: Mapping[int, tuple[SpanScore, ...]]
    labels: Mapping[int, tuple[str, str]]


def read(candidates: Candidates, asked: Asked, snapshot: Db) -> Head:
    """A rerank only lifts the first `rerank_depth` over the others: what is picked is among them or the first `top_k`
    of the fused order."""
    ranking, collection = asked.question.ranking, asked.collection
    best_first = candidates.recalled.chunk_ids[candidates.fused_rank.argsort()]
    pickable = best_first[: max(ranking.rerank_depth, ranking.top_k)].tolist()
    spans = vectors.span_scores(snapshot, collection, asked.vector, pickable)
    return Head(
        reranked=tuple(pickable[: ranking.rerank_depth]),
        chunks=documents.details(snapshot, collection.id, pickable),
        spans={chunk_id: tuple(group) for chunk_id, group in groupby(spans, attrgetter("chunk_id"))},
        labels=documents.labels(snapshot, collection.id, best_first.tolist()),
    )


def spread(scores: Mapping[int, float], candidates: Candidates) -> Floats:
    """Scores by chunk id as an array over all candidates (n,), NaN where there is none."""
    return np.array([scores.get(i, np.nan) for i in candidates.recalled.chunk_ids.tolist()], np.float64)
