"""Read the ledger: what was asked, found and answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from app.db.pool import Db
from app.db.sql import statement
from app.errors import NotFound


@dataclass(frozen=True, slots=True)
class LoggedHit:
    """One candidate with the scores it had then; the chunk may be gone since."""

    chunk_id: int
    text_sha256: str
    source: str
    vector_rank: int | None
    bm25_rank: int | None
    cosine: float | None
    bm25: float | None
    vector_norm: float | None
    bm25_norm: float | None
    fused: float | None
    fused_rank: int
    span_cosine: float | None
    coverage: float | None
    rerank_score: float | None
    score: float | None
    rank: int
    other_language: bool
    picked: bool
    cited: bool
    collapsed_into: int | None
    resemblance: float | None
    passage_start_char: int | None
    passage_end_char: int | None


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """One search or ask as it was kept, without the question's vector."""

    hits: Sequence[LoggedHit]
    id: UUID
    at: datetime
    kind: Literal["search", "ask"]
    collection: str
    revision: int
    question: str
    tokenizer: str
    tokens: Sequence[str]
    parameters: Mapping[str, Any]
    vector_scan: str
    lexical: Mapping[str, Any]
    confidence: float | None
    source: str
    reason: str
    answer: str | None
    citations: Sequence[Mapping[str, Any]]
    timings_ms: Mapping[str, float]
    degraded: Sequence[str]


def get(connection: Db, query_id: UUID) -> LoggedQuery:
    """A query with its candidates by rank. Raises NotFound."""
    row = connection.execute(statement("queries", "get"), {"query_id": query_id}).fetchone()
    if row is None:
        raise NotFound(f"the ledger has no query {query_id}")
    values = {"collection_id": row[0], "query_id": query_id}
    hits = [LoggedHit(*hit) for hit in connection.execute(statement("queries", "hits"), values)]
    return LoggedQuery(hits, *row[1:])
