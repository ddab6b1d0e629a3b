"""Questions in, ranked passages and cited answers out. Read this page first."""

from dataclasses import replace
from functools import partial
from uuid import uuid4

from app.db import collections
from app.db.pool import Db
from app.errors import CacheUnavailable, Conflict
from app.query import cache, cite, expand, explain, fuse, head, ledger, pick, qa, quote, recall, refuse, rerank
from app.query.head import Head
from app.query.ledger import Found
from app.query.quote import Evidence
from app.query.timing import Timings
from app.query.understand import OtherModelError, check, tokenized, understand
from app.records import Answer, Asked, Candidates, Collection, QaPair, Question, SearchResult
from app.resources import Resources

_ATTEMPTS = 10  # replicas that lag behind each other may show a change of model several times


def search(question: Question, resources: Resources) -> SearchResult:
    """Rank a collection's chunks by both recalls. Raises InvalidInput, CollectionNotFound, DatabaseUnavailable."""
    timings = Timings()
    check(question, resources)
    collection = resources.database.read_anywhere(partial(collections.get, name=question.collection))
    with timings("understand"):
        asked = understand(question, collection, resources)
    found = find(asked, resources, timings)
    result = SearchResult(
        query_id=uuid4(),
        collection=collection.name,
        revision=found.candidates.recalled.revision,
        hits=found.picked.hits,
        confidence=found.candidates.confidence,
        degraded=found.asked.degraded,
        timings_ms=timings.total(),
        explanation=explain.explained(found) if question.explain else None,
    )
    return ledger.record_search(result, found, resources)


def answer(question: Question, resources: Resources) -> Answer:
    """Answer from curated pairs, then the cache, then the corpus; refuse where none of them knows."""
    timings = Timings()
    check(question, resources)
    collection, pair = resources.database.read_anywhere(partial(_known, question=question))
    if pair:
        known = qa.answer(pair, collection, timings)
        return ledger.record_known(known, question, collection, f"curated pair {pair.id}", resources)
    degraded: tuple[str, ...] = ()
    try:
        if kept := cache.read(question, collection, resources):
            known = cache.served(kept, timings)
            reason = f"cached answer of query {kept.query_id}"
            return ledger.record_known(known, question, collection, reason, resources)
    except CacheUnavailable:
        degraded = ("cache",)
    with timings("understand"):
        asked = understand(question, collection, resources)
    found = find(asked, resources, timings)
    with timings("quote"):
        evidence = quote.best(
            found.hits, found.spans, found.candidates.recalled.statistics, found.asked.collection.words
        )
    made = ledger.record_answer(_answer(found, evidence, degraded, timings), found, resources)
    cache.write(made, question, found.asked.collection, resources)
    return made


def find(asked: Asked, resources: Resources, timings: Timings) -> Found:
    """Recall, fuse, rerank, pick and expand. All is read in one snapshot, over before a reranker takes its time."""
    asked, candidates, best = _of_one_space(asked, resources, timings)
    with timings("rerank"):
        candidates, away = rerank.reorder(candidates, best, asked, resources)
    with timings("pick"):
        picked = pick.top(candidates, best, asked.question.ranking)
        grown = expand.passages(picked, best.windows, asked.question.ranking.expand_tokens)
    asked = replace(asked, degraded=asked.degraded + away)
    return Found(asked, candidates, picked.hits, grown, best.spans, best.matches)


def _of_one_space(asked: Asked, resources: Resources, timings: Timings) -> tuple[Asked, Candidates, Head]:
    """What a snapshot holds for a question. Where its collection was given another model since the question was
    understood, it is understood anew."""
    for _ in range(_ATTEMPTS):
        try:
            return resources.database.read_anywhere(partial(_fused, asked, resources=resources, timings=timings))
        except OtherModelError as e:
            with timings("understand"):
                asked = understand(asked.question, e.collection, resources)
    raise Conflict("the model of the collection changed again and again; try again")


def _fused(asked: Asked, snapshot: Db, resources: Resources, timings: Timings) -> tuple[Asked, Candidates, Head]:
    with timings("recall"):
        asked = tokenized(asked, snapshot)
        recalled = recall.both_paths(asked, snapshot, resources)
    with timings("fuse"):
        candidates = fuse.weighted(recalled, asked.question.ranking)
    with timings("read"):
        return asked, candidates, head.read(candidates, asked, snapshot)


def _known(snapshot: Db, question: Question) -> tuple[Collection, QaPair | None]:
    collection = collections.get(snapshot, question.collection)
    return collection, qa.hit(question, collection, snapshot)


def _answer(found: Found, evidence: Evidence, degraded: tuple[str, ...], timings: Timings) -> Answer:
    """The extractive answer of what was found, with checked citations, or a refusal."""
    confidence = refuse.confidence(found.asked.question.text, found.hits, found.candidates, evidence.coverage)
    answered = refuse.answers(evidence.quotes, confidence)
    if answered:
        text, citations = cite.attach(cite.join(evidence.quotes), evidence.quotes)
    else:
        text, citations = refuse.text(found.asked.question.text, found.hits), ()
    return Answer(
        query_id=uuid4(),
        collection=found.asked.collection.name,
        revision=found.candidates.recalled.revision,
        text=text,
        source="corpus" if answered else "refusal",
        generator="extractive",
        cached=False,
        confidence=confidence,
        citations=citations,
        hits=found.picked.hits,
        degraded=found.asked.degraded + degraded,
        timings_ms=timings.total(),
    )
