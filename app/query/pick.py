"""Turn the best candidates into hits: their text, and every score that put them there."""

import math

import numpy as np
from numpy.typing import NDArray

from app.db.documents import ChunkDetail
from app.query.head import Head
from app.records import Candidates, Hit, Ranking


def top(candidates: Candidates, head: Head, ranking: Ranking) -> tuple[Hit, ...]:
    """The first `top_k` candidates that reach the least rerank score, best first."""
    best_first = candidates.rank.argsort()
    best = best_first[_reaches(candidates, ranking.rerank_min_score)[best_first]][: ranking.top_k].tolist()
    return tuple(_hit(candidates, n, head.chunks[int(candidates.recalled.chunk_ids[n])]) for n in best)


def _reaches(candidates: Candidates, least: float | None) -> NDArray[np.bool_]:
    """(n,) true where a candidate may be a hit. What was not judged does not reach a least score, unless nothing was:
    where the reranker is away, or there is none, the hits stay."""
    if least is None or np.isnan(candidates.rerank_score).all():
        return np.ones(len(candidates.rank), bool)
    return candidates.rerank_score >= least


def _hit(candidates: Candidates, n: int, chunk: ChunkDetail) -> Hit:
    recalled = candidates.recalled
    return Hit(
        rank=int(candidates.rank[n]),
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        source=chunk.source,
        title=chunk.title,
        section=chunk.section,
        start_char=chunk.start_char,
        end_char=chunk.end_char,
        text=chunk.text,
        text_sha256=chunk.text_sha256,
        cosine=_known(recalled.cosine[n]),
        bm25=float(recalled.bm25[n]),
        vector_rank=int(recalled.vector_rank[n]) or None,
        bm25_rank=int(recalled.bm25_rank[n]) or None,
        vector_norm=float(candidates.vector_norm[n]),
        bm25_norm=float(candidates.bm25_norm[n]),
        fused=float(candidates.fused[n]),
        span_cosine=_known(candidates.span_cosine[n]),
        coverage=_known(candidates.coverage[n]),
        rerank_score=_known(candidates.rerank_score[n]),
        score=float(candidates.score[n]),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
