"""Search: both recalls over the whole collection, as of one moment, with every score kept."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from app.db import collections, vectors
from app.db.pool import Database
from app.errors import CollectionNotFound, InvalidInput
from app.ingest import pipeline as ingest
from app.ingest import store
from app.lexical.tokens import tokens
from app.query import pipeline
from app.records import Question, Ranking, Source
from app.resources import Resources
from app.services import processes
from tests.embedders import Away, Only

TEXTS = {
    "kettle.md": "The copper kettle holds 12 litres and heats in nine minutes.",
    "grinder.md": "The grinder has eleven settings; error E-204 means that the hopper is empty.",
    "水壶.md": "铜壶的容量是十二升，九分钟烧开。",
    "磨豆机.md": "磨豆机有十一档，出现 E-204 表示料斗已空。",
    "policy.md": "Employees have 25 days of leave; five may be carried into the next year.",
}


@pytest.fixture
def filled(resources: Resources) -> Resources:
    for name, text in TEXTS.items():
        ingest.ingest(Source(name, name, "text/plain", text), "k", resources)
    return resources


def sources(resources: Resources, text: str, ranking: Ranking | None = None) -> list[str]:
    return [hit.source for hit in pipeline.search(Question(text, "k", ranking or Ranking()), resources).hits]


def test_a_question_finds_its_document_first(filled: Resources) -> None:
    assert sources(filled, "how long until the kettle boils")[0] == "kettle.md"
    assert sources(filled, "水壶多久烧开")[0] == "水壶.md"
    assert sources(filled, "How many holidays do I get?")[0] == "policy.md"
    assert set(sources(filled, "E-204")[:2]) == {"grinder.md", "磨豆机.md"}


def test_every_candidate_carries_both_raw_scores(filled: Resources) -> None:
    result = pipeline.search(Question("copper kettle", "k"), filled)
    vector = filled.embedder.embed_questions(["copper kettle"])[0]
    passages = filled.embedder.embed_passages([hit.text for hit in result.hits])
    assert len(result.hits) == len(TEXTS)
    for hit, passage in zip(result.hits, passages, strict=True):
        assert hit.cosine == pytest.approx(float(passage @ vector), abs=1e-5)
    expected = textbook(tokens("copper kettle"), {hit.chunk_id: tokens(hit.text) for hit in result.hits})
    assert {hit.chunk_id: hit.bm25 for hit in result.hits} == pytest.approx(expected, abs=1e-6)


def textbook(question: Sequence[str], chunks: Mapping[int, Sequence[str]]) -> dict[int, float]:
    """BM25 as the paper writes it (Lucene variant, k1 1.5, b 0.75), over token lists."""
    n, mean = len(chunks), sum(map(len, chunks.values())) / max(1, len(chunks))
    scores = dict.fromkeys(chunks, 0.0)
    for term in question:
        df = sum(term in words for words in chunks.values())
        idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
        for chunk_id, words in chunks.items():
            tf = sum(word == term for word in words)
            scores[chunk_id] += idf * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * len(words) / mean)) if tf else 0.0
    return scores


EXAMPLE = itertools.count()
NAMES = st.sampled_from(["a.txt", "b.txt", "c.txt", "d.txt"])
WORDS = st.lists(st.sampled_from(["kettle", "copper", "E-204", "铜壶", "容量", "leave"]), min_size=1, max_size=8)
CHANGE = st.one_of(
    st.tuples(st.just("put"), NAMES, WORDS.map(" ".join)),
    st.tuples(st.sampled_from(["delete", "disable", "enable"]), NAMES, st.just("")),
)


@given(changes=st.lists(CHANGE, min_size=1, max_size=12), question=WORDS.map(" ".join))
@examples(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bm25_equals_a_textbook_after_any_sequence_of_changes(
    resources: Resources, changes: list[tuple[str, str, str]], question: str
) -> None:
    name = f"example {next(EXAMPLE)}"
    ingest.open_collection(name, resources)
    texts: dict[str, str] = {}
    ids: dict[str, int] = {}
    disabled: set[str] = set()
    for what, source, text in changes:
        if what == "put":
            ids[source] = ingest.ingest(Source(source, source, "text/plain", text), name, resources).document_id or 0
            texts[source] = text
        elif source in ids and what == "delete":
            store.delete(ids.pop(source), resources)
            texts.pop(source)
            disabled.discard(source)
        elif source in ids:
            store.set_state(ids[source], "disabled" if what == "disable" else "active", resources)
            (disabled.add if what == "disable" else disabled.discard)(source)
    active = {source: text for source, text in texts.items() if source not in disabled}
    # texts may be equal
    result = pipeline.search(Question(question, name, Ranking(collapse_duplicates=False)), resources)
    by_source = {hit.source: hit for hit in result.hits}
    numbered = {n: tokens(text) for n, text in enumerate(active.values())}
    expected = dict(zip(active, textbook(tokens(question), numbered).values(), strict=True))
    assert by_source.keys() == active.keys()
    assert all(abs(by_source[source].bm25 - score) < 1e-6 for source, score in expected.items())


def test_a_deleted_document_leaves_both_recall_paths(filled: Resources) -> None:
    hit = pipeline.search(Question("copper kettle", "k"), filled).hits[0]
    store.delete(hit.document_id, filled)
    assert hit.source not in sources(filled, "copper kettle")


def test_a_disabled_document_leaves_both_recall_paths_and_comes_back(filled: Resources) -> None:
    hit = pipeline.search(Question("copper kettle", "k"), filled).hits[0]
    store.set_state(hit.document_id, "disabled", filled)
    assert hit.source not in sources(filled, "copper kettle")
    store.set_state(hit.document_id, "active", filled)
    back = pipeline.search(Question("copper kettle", "k"), filled).hits[0]
    assert (back.source, back.bm25, back.cosine) == (hit.source, hit.bm25, hit.cosine)


def test_a_single_hit_is_not_normalised_to_zero(resources: Resources) -> None:
    ingest.ingest(Source("a", "a", "text/plain", "one lonely kettle"), "k", resources)
    hit = pipeline.search(Question("kettle", "k"), resources).hits[0]
    assert (hit.vector_norm, hit.bm25_norm) == (1.0, 1.0)


def test_an_empty_collection_has_no_hits_and_no_error(resources: Resources) -> None:
    ingest.open_collection("k", resources)
    result = pipeline.search(Question("anything", "k"), resources)
    assert result.hits == ()
    assert pipeline.answer(Question("anything", "k"), resources).source == "refusal"


def test_a_question_of_punctuation_is_ranked_by_vector_alone(filled: Resources) -> None:
    result = pipeline.search(Question("？！", "k"), filled)
    assert len(result.hits) == len(TEXTS)
    assert all(hit.bm25 == 0 for hit in result.hits)


@pytest.mark.parametrize(
    ("question", "field"),
    [
        (Question("", "k"), "question"),
        (Question(" \n", "k"), "question"),
        (Question("a\0b", "k"), "question"),
        (Question("x" * 1_000_000, "k"), "question"),
        (Question("a", "k", Ranking(vector_weight=0, bm25_weight=0)), "vector_weight"),
    ],
)
def test_a_bad_question_is_refused_by_name(filled: Resources, question: Question, field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        pipeline.search(question, filled)


def test_an_unknown_collection_is_named(filled: Resources) -> None:
    with pytest.raises(CollectionNotFound, match="nowhere"):
        pipeline.search(Question("a", "nowhere"), filled)


def test_without_the_embedder_bm25_alone_answers_and_says_so(filled: Resources) -> None:
    filled.__dict__["backends"] = Only(Away(filled.embedder.identity))
    result = pipeline.search(Question("copper kettle", "k"), filled)
    assert result.degraded == ("vector",)
    assert result.hits[0].source == "kettle.md"
    assert result.hits[0].cosine is None
    answer = pipeline.answer(Question("copper kettle holds", "k"), filled)
    assert answer.degraded == ("vector",)


def test_a_collection_whose_embedder_is_away_is_searched_by_bm25_and_the_ledger_keeps_that(filled: Resources) -> None:
    ingest.ingest(Source("kettle.md", "Kettle", "text/plain", TEXTS["kettle.md"]), "other", filled)
    with filled.database.write() as connection:
        connection.execute(
            "WITH made AS (INSERT INTO embedding_space (backend, model, dim, query_prefix, passage_prefix, fingerprint)"
            " SELECT 'openai', 'away/model', dim, '', '', fingerprint FROM embedding_space RETURNING id)"
            " UPDATE collection SET space_id = made.id FROM made WHERE name = 'k'"
        )
    question = Question("How many litres does the copper kettle hold?", "k", use_cache=False)
    found, answer = pipeline.search(question, filled), pipeline.answer(question, filled)
    assert found.degraded == answer.degraded == ("vector",)
    assert (found.hits[0].source, found.hits[0].cosine) == ("kettle.md", None)
    assert "12 litres" in answer.text
    assert pipeline.search(replace(question, collection="other"), filled).degraded == ()
    with filled.database.read() as connection:
        rows = connection.execute(
            "SELECT q.kind, q.degraded, q.vector_scan, count(h.cosine)"
            " FROM query_log q JOIN query_hit h ON h.query_id = q.id WHERE q.id = ANY(%s) GROUP BY 1, 2, 3 ORDER BY 1",
            ([found.query_id, answer.query_id],),
        ).fetchall()
    assert rows == [("ask", ["vector"], "none", 0), ("search", ["vector"], "none", 0)]


def test_a_second_model_of_equal_dimension_is_never_compared(filled: Resources) -> None:
    with filled.database.write() as connection:
        connection.execute("UPDATE embedding_space SET model = 'another'")
    assert pipeline.search(Question("copper kettle", "k"), filled).degraded == ("vector",)


def test_vectors_that_are_not_those_of_the_space_are_never_compared(filled: Resources) -> None:
    """A backend may serve other weights under the name of a model."""
    with filled.database.write() as connection:
        connection.execute(
            "UPDATE embedding_space SET fingerprint ="
            " (SELECT array_agg(x ORDER BY n DESC) FROM unnest(fingerprint) WITH ORDINALITY AS u(x, n))"
        )
    assert pipeline.search(Question("copper kettle", "k"), filled).degraded == ("vector",)


def test_the_ledger_keeps_every_candidate_and_score(filled: Resources) -> None:
    result = pipeline.search(Question("copper kettle", "k", Ranking(top_k=2)), filled)
    with filled.database.read() as connection:
        rows = connection.execute(
            "SELECT chunk_id, cosine, bm25, fused, span_cosine, score, rank, picked FROM query_hit "
            "WHERE query_id = %s ORDER BY rank",
            (result.query_id,),
        ).fetchall()
        log = connection.execute(
            "SELECT kind, question, revision, tokens, timings FROM query_log WHERE id = %s", (result.query_id,)
        ).fetchone()
    assert len(rows) == len(TEXTS)
    assert [row[7] for row in rows] == [True, True, False, False, False]
    for row, hit in zip(rows, result.hits, strict=False):
        assert row[:7] == (hit.chunk_id, hit.cosine, hit.bm25, hit.fused, hit.span_cosine, hit.score, hit.rank)
    assert log is not None
    assert log[:3] == ("search", "copper kettle", result.revision)
    assert log[3] == tokens("copper kettle")
    assert log[4]["total"] > 0


def test_the_words_that_a_chunk_holds_count_as_much_as_their_weight_says(filled: Resources) -> None:
    question = Question("copper kettle litres", "k", Ranking(rerank_coverage_weight=0.25))
    hits = {hit.source: hit for hit in pipeline.search(question, filled).hits}
    assert hits["kettle.md"].coverage == pytest.approx(1)
    assert hits["policy.md"].coverage == 0
    spans = [hit.span_cosine for hit in hits.values() if hit.span_cosine is not None]
    for source, hit in hits.items():
        assert hit.span_cosine is not None
        # words say nothing of a chunk in another language: there the normalised span cosine is the least
        least = (hit.span_cosine - min(spans)) / (max(spans) - min(spans)) if source[0] in "水磨" else 0
        assert hit.rerank_score == pytest.approx(hit.span_cosine + 0.25 * max(hit.coverage, least))


def test_without_its_weight_coverage_is_only_shown(filled: Resources) -> None:
    hits = pipeline.search(Question("copper kettle", "k", Ranking(rerank_coverage_weight=0)), filled).hits
    assert [hit.rerank_score for hit in hits] == [hit.span_cosine for hit in hits]
    assert hits[0].coverage == pytest.approx(1)


def test_coverage_is_the_share_of_the_questions_weight(filled: Resources) -> None:
    question = "copper kettle of the grinder holds 25 days E-204 zzz"
    with filled.database.read() as connection:
        found = [(hit.coverage, set(tokens(hit.text))) for hit in pipeline.search(Question(question, "k"), filled).hits]
        [(lexical,)] = connection.execute("SELECT lexical -> 'terms' FROM query_log ORDER BY at DESC LIMIT 1")
    weights = {term["term"]: term["count"] * term["idf"] for term in lexical}
    for coverage, held in found:
        assert coverage == pytest.approx(sum(weights[term] for term in held & weights.keys()) / sum(weights.values()))


def test_the_best_span_ranks_its_chunk(resources: Resources) -> None:
    spans = ("The kettle is made of copper. " * 7, "Leave can be carried into the next year. " * 5)
    ingest.ingest(Source("a.md", "a", "text/plain", "\n\n".join(spans)), "k", resources)
    [hit] = pipeline.search(Question("annual leave", "k"), resources).hits
    question = resources.embedder.embed_questions(["annual leave"])[0]
    with resources.database.read() as snapshot:
        collection = collections.get(snapshot, "k")
        cosines = [span.cosine for span in vectors.span_scores(snapshot, collection, question, [hit.chunk_id])]
    assert len(cosines) > 1
    assert hit.span_cosine == max(cosine for cosine in cosines if cosine is not None)


def test_the_words_alone_rerank(filled: Resources) -> None:
    hits = pipeline.search(Question("hopper empty means", "k", Ranking(reranker="overlap")), filled).hits
    assert hits[0].source == "grinder.md"
    assert hits[0].coverage == pytest.approx(1)
    assert all(hit.rerank_score is not None and 0 <= hit.rerank_score <= 1 for hit in hits)


def test_the_score_is_the_fused_one_plus_the_bonus_of_the_rerank(filled: Resources) -> None:
    result = pipeline.search(Question("copper kettle", "k"), filled)
    judged = np.array([hit.rerank_score for hit in result.hits])
    bonus = (judged - judged.min()) / np.ptp(judged) * Ranking().rerank_weight
    assert [hit.score - hit.fused for hit in result.hits] == pytest.approx(bonus.tolist(), abs=1e-9)


def test_the_ledger_looks_up_its_query_and_never_reads_all_of_them(database_url: str, filled: Resources) -> None:
    """Each row of query_hit looks up its query_log, by a plan that a connection may have made while that was empty."""
    asking = replace(filled, database=Database(database_url, max_connections=1, timeout_seconds=20))
    asking.__dict__["backends"] = filled.backends
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute("VACUUM ANALYZE query_log")
        for _ in range(12):  # plans are kept from the sixth on
            pipeline.search(Question("copper kettle", "k"), asking)
        asking.database.close()  # its session reports its counts when it ends
        scans = "SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = 'query_log'"
        rows = 12 * len(TEXTS)
        assert processes.wait_until(lambda: admin.execute(scans).fetchall()[0][1] >= rows, 10)
        assert admin.execute(scans).fetchall()[0][0] < rows


def test_an_answer_in_the_other_language_does_not_lose_to_a_common_word(resources: Resources) -> None:
    texts = {
        "en.md": "The dough rises for three hours in a warm place and doubles.",
        "馆.md": "图书馆每天开放八个小时。",
        "船.md": "渡轮每两个小时一班。",
        "蜂.md": "冬天蜂群靠蜂蜜和糖水过冬。",
    }
    for name, text in texts.items():
        ingest.ingest(Source(name, name, "text/plain", text), "k", resources)
    question = Question("面团要发酵几个小时？", "k")
    hits = {hit.source: hit for hit in pipeline.search(question, resources).hits}
    assert hits["en.md"].bm25 == 0 < hits["馆.md"].bm25
    assert hits["en.md"].bm25_norm == hits["en.md"].vector_norm > 0
    assert hits["en.md"].fused > hits["馆.md"].fused
    with resources.database.read() as connection:
        rows = connection.execute(
            "SELECT h.other_language, k.han_share, k.text FROM query_hit h JOIN chunk k ON k.id = h.chunk_id"
        ).fetchall()
    assert {(row[0], row[2][0] < "\u3400") for row in rows} == {(True, True), (False, False)}
    for _, share, text in rows:
        assert share == pytest.approx(sum("\u3400" <= char <= "\u9fff" for char in text) / len(text), abs=1e-6)
