"""Keep what was asked, found and answered: the last step of every question."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from app.db import ledger
from app.errors import DatabaseUnavailable
from app.records import (
    Answer,
    Asked,
    Candidates,
    Collection,
    Hit,
    LedgerEntry,
    Match,
    Picked,
    Question,
    SearchResult,
    SpanScore,
)
from app.resources import Resources

_LOG = logging.getLogger(__name__)
Made = TypeVar("Made", SearchResult, Answer)


@dataclass(frozen=True, slots=True)
class Found:
    """What the search steps found for one question.

    `hits` are chunks, as answers quote them; `picked` is what is returned: the same, or the passages that they grew to.
    By chunk id: the `spans` of what could be picked, and where an explanation is wanted its `matches` in the index.
    """

    asked: Asked
    candidates: Candidates
    hits: tuple[Hit, ...]
    picked: Picked
    spans: Mapping[int, tuple[SpanScore, ...]]
    matches: Mapping[int, Match]


def record_search(result: SearchResult, found: Found, resources: Resources) -> SearchResult:
    """Keep a search with all its candidates. Returns it with "ledger" in `degraded` where it could not be kept."""
    entry = LedgerEntry(
        query_id=result.query_id,
        kind="search",
        asked=found.asked,
        revision=result.revision,
        source="corpus",
        reason=f"{len(result.hits)} of {len(found.candidates.rank)} candidates",
        timings_ms=result.timings_ms,
        candidates=found.candidates,
        picked=found.picked,
        degraded=result.degraded,
    )
    return _kept(result, entry, resources)


def record_answer(answer: Answer, found: Found, resources: Resources) -> Answer:
    """Keep an answer or a refusal with all its candidates. Returns it as `record_search` does."""
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
        picked=found.picked,
        cited=frozenset(citation.chunk_id for citation in answer.citations),
        answer=answer.text,
        citations=answer.citations,
        degraded=answer.degraded,
    )
    return _kept(answer, entry, resources)


def record_known(
    answer: Answer, question: Question, collection: Collection, reason: str, resources: Resources
) -> Answer:
    """Keep an answer that needed no search; `reason` says where it came from. Returns it as `record_search` does."""
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
    return _kept(answer, entry, resources)


def _kept(made: Made, entry: LedgerEntry, resources: Resources) -> Made:
    """Write an entry. Searches need not see it, and a primary that is away must not keep replicas from answering."""
    try:
        with resources.database.write(visible=False) as connection:
            ledger.write(connection, entry)
    except DatabaseUnavailable as e:
        _LOG.warning("ledger.not_kept query=%s reason=%s", entry.query_id, e)
        return replace(made, degraded=(*made.degraded, "ledger"))
    return made
