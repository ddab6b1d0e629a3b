"""Write a search or an answer with all its candidates, so that psql can explain it later."""

import json
from dataclasses import asdict, fields  # asdict copies every value, ten times as slow
from functools import partial
from typing import Any

import numpy as np
from psycopg.types.json import Jsonb

from app.db import wire
from app.db.pool import Db
from app.db.sql import statement
from app.db.wire import Column
from app.lexical.tokens import tokenizer
from app.records import Candidates, Collapse, Ints, LedgerEntry, LexicalStatistics, Ranking

_NO_COLLAPSE = Collapse(into=0)


def write(connection: Db, entry: LedgerEntry) -> None:
    """One row of query_log and one row of query_hit for each candidate."""
    connection.execute(statement("ledger", "relaxed"))
    connection.execute(statement("ledger", "insert_query"), _query(entry))
    if entry.candidates is None:
        return
    with connection.cursor() as cursor, cursor.copy(statement("ledger", "copy_hits")) as copy:
        copy.write(_hits(entry, entry.candidates))


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
        "parameters": Jsonb(_ranking(question.ranking) | _circumstances(entry), dumps=partial(json.dumps, default=str)),
        "vector_scan": candidates.recalled.vector_scan if candidates else "none",
        "lexical": Jsonb(_statistics(candidates.recalled.statistics) if candidates else {}),
        "confidence": candidates.confidence if candidates else None,
        "source": entry.source,
        "reason": entry.reason,
        "answer": entry.answer,
        "citations": Jsonb([asdict(citation) for citation in entry.citations]),
        "timings": Jsonb(dict(entry.timings_ms)),
        "degraded": list(entry.degraded),
    }


def _circumstances(entry: LedgerEntry) -> dict[str, Any]:
    """What besides the ranking decided the outcome; `reranked_by` is "" where the order stayed the fused one. `ranked`
    is how many candidates there were, so that a lost row of theirs is missed."""
    question, candidates = entry.asked.question, entry.candidates
    return {
        "filters": question.filters.given(),
        "use_cache": question.use_cache,
        "reranked_by": candidates.reranked_by if candidates else "",
        "ranked": len(candidates.recalled.chunk_ids) if candidates else 0,
    }


def _ranking(ranking: Ranking) -> dict[str, Any]:
    return {part.name: getattr(ranking, part.name) for part in fields(ranking)}


def _statistics(used: LexicalStatistics) -> dict[str, Any]:
    terms = [{"term": t.term, "count": t.count, "df": t.df, "idf": t.idf} for t in used.terms]
    return {"live_chunks": used.live_chunks, "mean_length": used.mean_length, "terms": terms, "bound": used.bound}


def _hits(entry: LedgerEntry, candidates: Candidates) -> bytes:
    """A row for each candidate, made column by column: row by row it took longer than all their scores."""
    recalled, picked = candidates.recalled, entry.picked
    ids: list[int] = recalled.chunk_ids.tolist()
    hits = {hit.chunk_id: hit for hit in picked.hits}
    labels = [recalled.labels[i] for i in ids]
    collapses = [picked.collapses.get(i, _NO_COLLAPSE) for i in ids]
    into = np.array([collapse.into for collapse in collapses], np.int64)
    grown = [hits[i].passage if i in hits else None for i in ids]
    starts, ends = np.array([(p.start_char, p.end_char) if p else (-1, -1) for p in grown], np.int32).reshape(-1, 2).T
    return wire.to_table(
        wire.numbers(np.full(len(ids), entry.asked.collection.id)),
        wire.strings([entry.query_id.bytes] * len(ids)),
        wire.numbers(recalled.chunk_ids),
        wire.strings([label.text_sha256.encode() for label in labels]),
        wire.strings([label.source.encode() for label in labels]),
        *(_ranks(ranks) for ranks in (recalled.vector_rank, recalled.bm25_rank)),
        *map(wire.numbers, (recalled.cosine, recalled.bm25, candidates.vector_norm, candidates.bm25_norm)),
        *(wire.numbers(candidates.fused), _ranks(candidates.fused_rank)),
        *map(wire.numbers, (candidates.span_cosine, recalled.coverage, candidates.rerank_score, candidates.score)),
        *(_ranks(candidates.rank), wire.numbers(recalled.other_language)),
        *(wire.numbers(np.isin(recalled.chunk_ids, list(chosen))) for chosen in (hits, entry.cited)),
        wire.numbers(into, null=into == 0),
        wire.numbers(np.array([collapse.resemblance for collapse in collapses], np.float64)),
        *(wire.numbers(places, null=places < 0) for places in (starts, ends)),
    )


def _ranks(ranks: Ints) -> Column:
    """Ranks count from 1; 0 is none."""
    return wire.numbers(ranks.astype(np.int32), null=ranks == 0)
