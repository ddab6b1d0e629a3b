"""Write a search or an answer with all its candidates, so that psql can explain it later."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from psycopg.types.json import Jsonb

from app.db.pool import Db
from app.db.sql import statement
from app.lexical.tokens import tokenizer
from app.records import Candidates, Collapse, Hit, LedgerEntry

_HIT_TYPES = [
    *("int8", "uuid", "int8", "text", "text", "int4", "int4", "float8", "float8"),
    *("float8", "float8", "float8", "int4", "float8", "float8", "float8", "float8", "int4", "bool", "bool"),
    *("int8", "float8", "int4", "int4"),
]


def write(connection: Db, entry: LedgerEntry) -> None:
    """One row of query_log and one row of query_hit for each candidate."""
    connection.execute(statement("ledger", "relaxed"))
    connection.execute(statement("ledger", "insert_query"), _query(entry))
    if entry.candidates is None:
        return
    with connection.cursor() as cursor, cursor.copy(statement("ledger", "copy_hits")) as copy:
        copy.set_types(_HIT_TYPES)
        for row in _hits(entry, entry.candidates):
            copy.write_row(row)


def _query(entry: LedgerEntry) -> dict[str, Any]:
    question, candidates = entry.asked.question, entry.candidates
    return {
        "collection_id": entry.asked.collection.id,
        "id": entry.query_id,
        "kind": entry.kind,
        "revision": entry.revision,
        "space_id": entry.asked.collection.space.id if entry.asked.vector is not None else None,
        "question": question.text,
        "tokenizer": tokenizer(entry.asked.collection.words) if candidates else "",
        "tokens": list(entry.asked.tokens),
        "embedding": entry.asked.vector,
        "parameters": Jsonb(asdict(question.ranking) | _circumstances(entry), dumps=partial(json.dumps, default=str)),
        "vector_scan": candidates.recalled.vector_scan if candidates else "none",
        "lexical": Jsonb(asdict(candidates.recalled.statistics) if candidates else {}),
        "confidence": candidates.confidence if candidates else None,
        "source": entry.source,
        "reason": entry.reason,
        "answer": entry.answer,
        "citations": Jsonb([asdict(citation) for citation in entry.citations]),
        "timings": Jsonb(dict(entry.timings_ms)),
        "degraded": list(entry.degraded),
    }


def _circumstances(entry: LedgerEntry) -> dict[str, Any]:
    """What besides the ranking decided the outcome; `reranked_by` is "" where the order stayed the fused one."""
    question = entry.asked.question
    reranked_by = entry.candidates.reranked_by if entry.candidates else ""
    return {"filters": question.filters.given(), "use_cache": question.use_cache, "reranked_by": reranked_by}


def _hits(entry: LedgerEntry, candidates: Candidates) -> Iterator[tuple[Any, ...]]:
    recalled, collapses = candidates.recalled, entry.picked.collapses
    hits = {hit.chunk_id: hit for hit in entry.picked.hits}
    columns = (
        recalled.vector_rank, recalled.bm25_rank, recalled.cosine, recalled.bm25, candidates.vector_norm,
        candidates.bm25_norm, candidates.fused, candidates.fused_rank, candidates.span_cosine, candidates.coverage,
        candidates.rerank_score, candidates.score, candidates.rank,
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for chunk_id, row in zip(recalled.chunk_ids.tolist(), rows, strict=True):
        vector_rank, bm25_rank, *scores = row
        yield (
            *(entry.asked.collection.id, entry.query_id, chunk_id, *entry.labels[chunk_id]),
            *(vector_rank or None, bm25_rank or None),
            *(None if isinstance(score, float) and np.isnan(score) else score for score in scores),
            *(chunk_id in hits, chunk_id in entry.cited),
            *_collapse(collapses.get(chunk_id)),
            *_passage(hits.get(chunk_id)),
        )


def _collapse(collapse: Collapse | None) -> tuple[int | None, float | None]:
    return (collapse.into, collapse.resemblance) if collapse else (None, None)


def _passage(hit: Hit | None) -> tuple[int | None, int | None]:
    return (hit.passage.start_char, hit.passage.end_char) if hit and hit.passage else (None, None)
