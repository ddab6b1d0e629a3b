"""Keep what was asked, found and answered: the last step of every question."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.db import ledger
from app.records import Answer, Asked, Candidates, Collection, Hit, LedgerEntry, Question, SearchResult
from app.resources import Resources


@dataclass(frozen=True, slots=True)
class Found:
    """What the search steps found for one question. `labels`: chunk id -> (sha-256 of its text, source)."""

    asked: Asked
    candidates: Candidates
    hits: tuple[Hit, ...]
    labels: Mapping[int, tuple[str, str]]


def record_search(result: SearchResult, found: Found, resources: Resources) -> None:
    """Keep a search with all its candidates."""
    entry = LedgerEntry(
        query_id=result.query_id,
        kind="search",
        asked=found.asked,
        revision=result.revision,
        source="corpus",
        reason=f"{len(result.hits)} of {len(found.labels)} candidates",
        timings_ms=result.timings_ms,
        candidates=found.candidates,
        labels=found.labels,
        picked=frozenset(hit.chunk_id for hit in result.hits),
        degraded=result.degraded,
    )
    _write(entry, resources)


def record_answer(answer: Answer, found: Found, resources: Resources) -> None:
    """Keep an answer or a refusal with all its candidates."""
    verdict = "answered" if answer.source == "corpus" else "refused"
    entry = LedgerEntry(
        query_id=answer.query_id,
        kind="ask",
        asked=found.asked,
        revision=answer.revision,
        source=answer.source,
        reason=f"{verdict} at confidence {answer.confidence:.3f}",
        timings_ms=answer.timings_ms,
        candidates=found.candidates,
        labels=found.labels,
        picked=frozenset(hit.chunk_id for hit in answer.hits),
        cited=frozenset(citation.chunk_id for citation in answer.citations),
        answer=answer.text,
        citations=answer.citations,
        degraded=answer.degraded,
    )
    _write(entry, resources)


def record_known(answer: Answer, question: Question, collection: Collection, reason: str, resources: Resources) -> None:
    """Keep an answer that needed no search; `reason` says where it came from."""
    entry = LedgerEntry(
        query_id=answer.query_id,
        kind="ask",
        asked=Asked(question, collection, (), None),
        revision=answer.revision,
        source=answer.source,
        reason=reason,
        timings_ms=answer.timings_ms,
        answer=answer.text,
        citations=answer.citations,
        degraded=answer.degraded,
    )
    _write(entry, resources)


def _write(entry: LedgerEntry, resources: Resources) -> None:
    with resources.database.write() as connection:
        ledger.write(connection, entry)
