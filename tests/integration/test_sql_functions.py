"""BM25 and the ledger recomputed in SQL, against what the service computed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import psycopg
import pytest
from audited import COLLECTION, QUESTIONS, add, change, fill, kept_resources
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from rerank_server import rerank_server

from app.clients.embedder import Embedder
from app.db import collections, lexical, postings
from app.db.segment_cache import SegmentCache
from app.ingest import store
from app.ingest.compact import TIER
from app.ingest.pipeline import open_collection
from app.lexical import segments
from app.lexical.index import Scored
from app.lexical.tokens import tokens
from app.query import qa
from app.query.pipeline import answer, search
from app.records import FusionName, Question, Ranking
from app.resources import Resources
from app.services import Endpoints
from app.settings import Settings
from tests.embedders import Away, Only

RAW = ("cosine", "bm25", "coverage", "span_cosine")
STEPS = ("vector_norm", "bm25_norm", "confidence", "fused", "rerank_score", "score", "ranks")


def ask(text: str, resources: Resources, ranking: Ranking | None = None) -> Any:
    """The id of a search."""
    return search(Question(text, COLLECTION, ranking or Ranking()), resources).query_id


def rows(resources: Resources, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Read, or change something behind the service's back."""
    with resources.database.write() as connection:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


def collection_id(resources: Resources) -> int:
    with resources.database.read() as connection:
        return collections.get(connection, COLLECTION).id


def scored(terms: Sequence[str], resources: Resources) -> Scored:
    """BM25 as the service computes it, from postings that no cache kept."""
    with resources.database.read() as connection:
        collection = collections.get(connection, COLLECTION)
        return lexical.score(connection, collection.id, terms, SegmentCache(0), k1=1.5, b=0.75)


def scored_in_sql(terms: Sequence[str], resources: Resources) -> dict[int, float]:
    return dict(rows(resources, "SELECT * FROM ragledger_audit.bm25(%s, %s)", collection_id(resources), list(terms)))


def assert_same_scores(terms: Sequence[str], resources: Resources) -> None:
    python, sql = scored(terms, resources), scored_in_sql(terms, resources)
    found = np.sort(python.top(10_000))
    assert sorted(sql) == found.tolist()
    np.testing.assert_allclose([sql[i] for i in sorted(sql)], python.of(found), rtol=0, atol=1e-9)


def verdicts(query_id: Any, resources: Resources) -> dict[str, str]:
    return {row[0]: row[4] for row in rows(resources, "SELECT * FROM ragledger_audit.verdict(%s)", query_id)}


def comparable(query_id: Any, resources: Resources) -> dict[str, tuple[int, int]]:
    """{score: (how many were compared, how many could not be)}"""
    return {row[0]: (row[1], row[2]) for row in rows(resources, "SELECT * FROM ragledger_audit.verdict(%s)", query_id)}


def explained(query_id: Any, resources: Resources, columns: str) -> list[tuple[Any, ...]]:
    return rows(resources, f"SELECT {columns} FROM ragledger_audit.explain(%s)", query_id)  # noqa: S608


@pytest.mark.parametrize("question", QUESTIONS)
def test_bm25_in_sql_equals_python_after_every_kind_of_change(question: str, resources: Resources) -> None:
    ids = fill(resources)
    assert_same_scores(tokens(question), resources)
    change(resources, ids)
    assert_same_scores(tokens(question), resources)


def test_the_statistics_in_sql_are_those_python_counts(resources: Resources) -> None:
    change(resources, fill(resources))
    terms = [*tokens(QUESTIONS[0]), "grinder", "zzz"]
    kept = scored(terms, resources).statistics
    found = rows(resources, "SELECT * FROM ragledger_audit.bm25_statistics(%s, %s)", collection_id(resources), terms)
    assert {row[0]: row[1:3] for row in found} == {term.term: (term.count, term.df) for term in kept.terms}
    for term, _, _, idf, live_chunks, mean_length in found:
        assert idf == pytest.approx(next(t.idf for t in kept.terms if t.term == term), abs=1e-12)
        assert (live_chunks, mean_length) == (kept.live_chunks, pytest.approx(kept.mean_length))
    [(lexical,)] = rows(resources, "SELECT ragledger_audit.bm25_lexical(%s, %s)", collection_id(resources), terms)
    assert lexical["bound"] == pytest.approx(kept.bound)


def test_a_repeated_term_counts_twice(resources: Resources) -> None:
    fill(resources)
    once, twice = scored_in_sql(["grinder"], resources), scored_in_sql(["grinder", "grinder"], resources)
    assert once
    assert twice == {chunk_id: pytest.approx(2 * score) for chunk_id, score in once.items()}


def test_no_terms_and_an_empty_collection_give_no_scores(resources: Resources) -> None:
    open_collection(COLLECTION, resources)
    assert scored_in_sql(["grinder"], resources) == {}
    fill(resources)
    assert scored_in_sql([], resources) == {}
    assert scored_in_sql(["zzz"], resources) == {}


TOKEN_LISTS = st.lists(st.lists(st.sampled_from("abcde"), max_size=12), min_size=1, max_size=6)


@examples(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(TOKEN_LISTS, min_size=1, max_size=4),
    question=st.lists(st.sampled_from("abcdx"), min_size=1, max_size=5),
    data=st.data(),
)
def test_bm25_in_sql_equals_python_over_any_segments_and_tombstones(
    parts: list[list[list[str]]], question: list[str], data: st.DataObject, resources: Resources
) -> None:
    open_collection(COLLECTION, resources)
    collection = collection_id(resources)
    ids = range(1, sum(map(len, parts)) + 1)
    buried = data.draw(st.lists(st.sampled_from(ids), unique=True))
    numbered = iter(ids)
    with resources.database.write() as connection:
        postings.retire(connection, collection, [segment.id for segment in postings.segments(connection, collection)])
        for part in parts:
            postings.add(connection, collection, segments.build({next(numbered): terms for terms in part}), "letters")
        postings.bury(connection, collection, buried)
    assert_same_scores(question, resources)
    live = rows(resources, "SELECT chunk_id FROM ragledger_audit.live_chunks(%s)", collection)
    assert {row[0] for row in live} == set(ids) - set(buried)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_fresh_question_is_recomputed_to_1e_5(question: str, resources: Resources) -> None:
    fill(resources)
    query_id = ask(question, resources)
    assert verdicts(query_id, resources) == dict.fromkeys((*RAW, *STEPS), "agrees")
    assert {row[0] for row in explained(query_id, resources, "state")} == {"as logged"}
    assert {row[0] for row in explained(query_id, resources, "revision_unchanged")} == {True}


def test_other_parameters_are_recomputed_too(resources: Resources) -> None:
    fill(resources)
    ranking = Ranking(
        candidates=3, vector_weight=0.3, bm25_weight=0.9, k1=0.9, b=0.4, rerank_depth=2, rerank_weight=2.0
    )
    query_id = ask(QUESTIONS[2], resources, ranking)
    assert verdicts(query_id, resources) == dict.fromkeys((*RAW, *STEPS), "agrees")
    assert comparable(query_id, resources)["span_cosine"] == (2, 0)


@pytest.mark.parametrize("fusion", get_args(FusionName))
def test_every_fusion_is_recomputed(fusion: FusionName, resources: Resources) -> None:
    fill(resources)
    for question in QUESTIONS:
        ranking = Ranking(candidates=4, fusion=fusion, rrf_k=7, vector_weight=0.3, bm25_weight=0.6, rerank_depth=3)
        query_id = ask(question, resources, ranking)
        assert verdicts(query_id, resources) == dict.fromkeys((*RAW, *STEPS), "agrees")


@pytest.mark.parametrize(
    ("ranking", "others"),
    [
        (Ranking(reranker="none"), {"rerank_score": "nothing to compare"}),
        (Ranking(rerank_depth=0), {"rerank_score": "nothing to compare", "span_cosine": "nothing to compare"}),
        (Ranking(rerank_coverage_weight=0), {}),
        (Ranking(rerank_coverage_weight=0.2), {}),
        (Ranking(reranker="overlap"), {"rerank_score": "taken as stored"}),
    ],
)
def test_every_reranker_is_recomputed_as_far_as_sql_can(
    ranking: Ranking, others: dict[str, str], resources: Resources
) -> None:
    fill(resources)
    found = verdicts(ask(QUESTIONS[2], resources, ranking), resources)
    assert found == dict.fromkeys((*RAW, *STEPS), "agrees") | others


def test_what_a_server_judged_is_taken_as_stored_and_the_score_recomputed_from_it(resources: Resources) -> None:
    fill(resources)
    with rerank_server() as server:
        asking = replace(resources, settings=resources.settings.model_copy(update={"reranker_url": server.url}))
        vars(asking)["backends"] = resources.backends
        question = Question(QUESTIONS[2], COLLECTION, Ranking(reranker="http"), explain=True)
        judged = search(question, asking)
        server.fault = "no json"
        fallen_back = search(question, asking)
    agree = dict.fromkeys((*RAW, *STEPS), "agrees")
    assert verdicts(judged.query_id, resources) == agree | {"rerank_score": "taken as stored"}
    assert fallen_back.degraded == ("rerank",)
    assert verdicts(fallen_back.query_id, resources) == agree | {"rerank_score": "nothing to compare"}
    known = [(path.method, path.known > 0) for each in (judged, fallen_back) if each.explanation
             for path in each.explanation.paths if path.path == "rerank"]  # fmt: skip
    assert known == [("http", True), ("http", False)]


def test_a_row_of_before_the_methods_is_recomputed(resources: Resources) -> None:
    fill(resources)
    query_id = ask(QUESTIONS[2], resources, Ranking(rerank_coverage_weight=0))
    known = "'{candidates,k1,b,top_k,vector_weight,bm25_weight,confidence_c0,rerank_depth,rerank_weight}'"
    rows(
        resources,
        "UPDATE query_log SET parameters = (SELECT jsonb_object_agg(key, value) FROM jsonb_each(parameters)"  # noqa: S608
        f" WHERE key = ANY ({known})) WHERE id = %s",
        query_id,
    )
    rows(resources, "UPDATE query_hit SET coverage = NULL WHERE query_id = %s", query_id)
    found = dict.fromkeys((*RAW, *STEPS), "agrees")
    del found["coverage"]
    assert verdicts(query_id, resources) == found


def test_a_single_candidate_is_recomputed(resources: Resources) -> None:
    add("only.md", "One chunk about grinders.", resources)
    query_id = ask("grinder", resources)
    assert set(verdicts(query_id, resources).values()) == {"agrees"}
    assert explained(query_id, resources, "vector_norm_recomputed, bm25_norm_recomputed") == [(1.0, 1.0)]


def test_a_question_is_recomputed_after_its_collection_changed(resources: Resources) -> None:
    ids = fill(resources)
    queries = [ask(question, resources) for question in QUESTIONS]
    change(resources, ids)
    for query_id in queries:
        assert set(verdicts(query_id, resources).values()) == {"agrees"}
        states = [row[0] for row in explained(query_id, resources, "state")]
        # the updated document and the deleted one had a chunk each; the disabled one keeps its vectors
        assert (states.count("gone"), states.count("disabled")) == (2, 1)
        counts = comparable(query_id, resources)
        assert counts["cosine"] == (len(states) - 2, 2)
        assert counts["bm25"] == (len(states) - 3, 3)
        assert {counts[step] for step in ("vector_norm", "bm25_norm", "fused", "score")} == {(len(states), 0)}
        gone = explained(query_id, resources, "state = 'gone', cosine_recomputed, bm25_recomputed")
        assert {row[1:] for row in gone if row[0]} == {(None, None)}


def test_bm25_with_the_kept_statistics_gives_the_old_scores(resources: Resources) -> None:
    ids = fill(resources)
    query_id = ask(QUESTIONS[2], resources)
    stored = dict(rows(resources, "SELECT chunk_id, bm25 FROM query_hit WHERE query_id = %s AND bm25 > 0", query_id))
    change(resources, ids)
    [(lexical,)] = rows(resources, "SELECT lexical::text FROM query_log WHERE id = %s", query_id)
    collection = collection_id(resources)
    then = dict(rows(resources, "SELECT * FROM ragledger_audit.bm25_with(%s, %s)", collection, lexical))
    now = scored_in_sql(tokens(QUESTIONS[2]), resources)
    survivors = stored.keys() & then.keys()
    assert survivors
    assert {i: then[i] for i in survivors} == {i: pytest.approx(stored[i], abs=1e-9) for i in survivors}
    assert any(abs(now[i] - stored[i]) > 1e-3 for i in survivors)


def test_a_question_is_recomputed_after_segments_were_merged(resources: Resources) -> None:
    ids = fill(resources)
    query_id = ask(QUESTIONS[1], resources)
    store.set_state(ids["water.md"], "disabled", resources)
    for n in range(TIER):  # more segments than a tier holds: they are merged and the tombstone goes
        add(f"more{n}.md", f"Note number {n}.", resources)
    assert set(verdicts(query_id, resources).values()) == {"agrees"}
    # the postings of the disabled chunk are gone with the tombstone, its vector is still there
    disabled = explained(query_id, resources, "state = 'disabled', bm25_recomputed, cosine_recomputed IS NULL")
    assert [row[1:] for row in disabled if row[0]] == [(None, False)]


def test_the_terms_add_up_to_the_score(resources: Resources) -> None:
    fill(resources)
    query_id = ask(QUESTIONS[2], resources)
    added = rows(
        resources,
        "SELECT h.bm25, sum(t.score), count(*) FROM query_log q JOIN query_hit h ON h.query_id = q.id"
        " JOIN ragledger_audit.bm25_terms(q.collection_id, q.lexical, chunk_ids => ARRAY[h.chunk_id]) t"
        " USING (chunk_id)"
        " WHERE q.id = %s GROUP BY h.chunk_id, h.bm25",
        query_id,
    )
    assert max(row[2] for row in added) > 1
    assert all(row[0] == pytest.approx(row[1], abs=1e-9) for row in added)


def test_a_question_without_vectors_has_no_cosine_to_compare(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(resources)
    monkeypatch.setitem(vars(resources), "backends", Only(Away(resources.embedder.identity)))
    query_id = ask(QUESTIONS[2], resources)
    found = verdicts(query_id, resources)
    without = ("cosine", "span_cosine", "rerank_score")
    assert {found[score] for score in without} == {"nothing to compare"}
    assert {found[score] for score in found.keys() - without} == {"agrees"}


def test_a_question_without_candidates_has_nothing_to_explain(resources: Resources) -> None:
    open_collection(COLLECTION, resources)
    qa.add(COLLECTION, "How long?", "Two years.", resources)
    known = answer(Question("How long?", COLLECTION), resources).query_id
    assert known is not None
    assert explained(known, resources, "*") == []
    assert verdicts(known, resources) == {}


@pytest.fixture(scope="module")
def asked(servers: Endpoints, settings: Settings, embedder: Embedder) -> Iterator[tuple[str, Any]]:
    """A database and the id of the one question that it was asked."""
    with kept_resources(servers, settings, embedder) as (url, made):
        fill(made)
        yield url, ask(QUESTIONS[2], made)


@pytest.mark.parametrize(
    ("damage", "differing"),
    [
        ("UPDATE query_hit SET cosine = cosine + 0.001 WHERE rank = 2", {"cosine", "vector_norm"}),
        ("UPDATE query_hit SET bm25 = bm25 + 0.001 WHERE bm25_rank = 2", {"bm25", "bm25_norm"}),
        ("UPDATE query_hit SET fused = fused - 0.001 WHERE fused_rank = 2", {"fused", "score"}),
        ("UPDATE query_hit SET score = score + 0.00002 WHERE rank = 1", {"score"}),
        ("UPDATE query_hit SET span_cosine = span_cosine - 1 WHERE rank = 5", {"span_cosine", "rerank_score"}),
        (
            "UPDATE query_hit SET coverage = coverage + 0.1 WHERE chunk_id ="
            " (SELECT chunk_id FROM query_hit WHERE NOT other_language ORDER BY rank LIMIT 1)",
            {"coverage", "rerank_score"},
        ),
        ("UPDATE query_hit SET rerank_score = rerank_score - 1 WHERE rank = 5", {"rerank_score", "score"}),
        ("UPDATE query_hit SET rank = 3 - rank WHERE rank <= 2", {"ranks"}),
        ("UPDATE query_log SET confidence = confidence / 2", {"confidence", "fused"}),
        ("DELETE FROM embedding WHERE chunk_id = (SELECT chunk_id FROM query_hit WHERE rank = 1)", {"cosine"}),
        ("UPDATE chunk SET text_sha256 = '' WHERE id = (SELECT chunk_id FROM query_hit WHERE rank = 1)", set(RAW)),
        ("UPDATE lexical_segment SET lengths[1] = lengths[1] + 9", {"bm25"}),
    ],
)
def test_a_changed_number_is_named_where_it_stands(damage: str, differing: set[str], asked: tuple[str, Any]) -> None:
    url, query_id = asked
    with psycopg.connect(url) as connection:
        connection.execute(damage.encode())
        found = connection.execute(
            "SELECT score FROM ragledger_audit.verdict(%s) WHERE verdict = 'DIFFERS'", (query_id,)
        )
        assert {row[0] for row in found} == differing
        connection.rollback()


def test_every_function_says_what_it_does(resources: Resources) -> None:
    silent = rows(
        resources,
        "SELECT proname FROM pg_proc WHERE pronamespace = 'ragledger_audit'::regnamespace"
        " AND obj_description(oid, 'pg_proc') IS NULL",
    )
    assert silent == []
