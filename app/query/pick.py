"""Turn the best candidates into hits: their text, and every score that put them there."""

import math

from app.db import documents
from app.db.pool import Db
from app.records import Asked, Candidates, Hit


def top(candidates: Candidates, asked: Asked, snapshot: Db) -> tuple[Hit, ...]:
    """The first `top_k` candidates, best first."""
    best = candidates.rank.argsort()[: asked.question.ranking.top_k].tolist()
    ids = [int(candidates.recalled.chunk_ids[n]) for n in best]
    details = documents.details(snapshot, asked.collection.id, ids)
    return tuple(_hit(candidates, n, details[i]) for n, i in zip(best, ids, strict=True))


def _hit(candidates: Candidates, n: int, chunk: documents.ChunkDetail) -> Hit:
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
        score=float(candidates.score[n]),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
