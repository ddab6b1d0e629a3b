"""Turn the best candidates into hits: their text, every score that put them there, near duplicates collapsed."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.db.documents import ChunkDetail
from app.query.duplicates import Comparable, resemblance
from app.query.head import Head
from app.records import Candidates, Collapse, FoundIn, Hit, Picked, Ranking


def top(candidates: Candidates, head: Head, ranking: Ranking) -> Picked:
    """The first `top_k` candidates that reach the least rerank score, best first; what repeats a better one is listed
    there and takes no place."""
    reaches = _reaches(candidates, ranking.rerank_min_score)
    groups: dict[int, list[int]] = {}
    for n in candidates.rank.argsort().tolist():
        chunk_id = int(candidates.recalled.chunk_ids[n])
        if chunk_id not in head.chunks:
            break  # none of those below has been read
        if reaches[n]:
            groups.setdefault(head.leaders[chunk_id], []).append(n)
    best = list(groups.values())[: ranking.top_k]
    hits = tuple(_hit(candidates, rank, group, head) for rank, group in enumerate(best, 1))
    return Picked(hits, {d.chunk_id: Collapse(h.chunk_id, d.resemblance) for h in hits for d in h.also_found_in})


def _reaches(candidates: Candidates, least: float | None) -> NDArray[np.bool_]:
    """(n,) true where a candidate may be a hit. What was not judged does not reach a least score, unless nothing was:
    where the reranker is away, or there is none, the hits stay."""
    if least is None or np.isnan(candidates.rerank_score).all():
        return np.ones(len(candidates.rank), bool)
    return candidates.rerank_score >= least


def _hit(candidates: Candidates, rank: int, group: Sequence[int], head: Head) -> Hit:
    recalled, n = candidates.recalled, group[0]
    chunk = head.chunks[int(recalled.chunk_ids[n])]
    return Hit(
        rank=rank,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        source=chunk.source,
        title=chunk.title,
        section=chunk.section,
        page=chunk.page,
        line=chunk.line,
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
        coverage=float(recalled.coverage[n]),
        rerank_score=_known(candidates.rerank_score[n]),
        score=float(candidates.score[n]),
        also_found_in=tuple(_found_in(candidates, other, head, chunk) for other in group[1:]),
    )


def _found_in(candidates: Candidates, n: int, head: Head, instead: ChunkDetail) -> FoundIn:
    chunk = head.chunks[int(candidates.recalled.chunk_ids[n])]
    return FoundIn(
        rank=int(candidates.rank[n]),
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        source=chunk.source,
        section=chunk.section,
        start_char=chunk.start_char,
        end_char=chunk.end_char,
        resemblance=resemblance(Comparable(chunk.text), Comparable(instead.text)),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
