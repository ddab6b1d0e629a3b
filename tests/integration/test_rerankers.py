"""Reranking by what is not ours: over real HTTP, in both protocols, and with everything that can go wrong."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faulty_server import SLOW_SECONDS
from pydantic import SecretStr
from rerank_server import NOT_ANSWERED, UNUSABLE, Fault, RerankServer, relevance, rerank_server

from app.clients.lazy_model import is_installed
from app.clients.reranker.http import HttpReranker, Protocol
from app.errors import InvalidInput, RerankerUnavailable, RerankingFailed
from app.ingest import pipeline as ingest
from app.query import pipeline
from app.records import Question, Ranking, SearchResult, Source
from app.resources import Resources

TEXTS = ("the copper kettle", "a kettle of tin", "nothing of it", "the copper kettle boils")
QUESTION = "the copper kettle boils"
EXPECTED = [relevance(QUESTION, text) for text in TEXTS]
TIMEOUT_SECONDS = SLOW_SECONDS / 4
HTTP = Ranking(reranker="http", rerank_weight=10)


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with rerank_server() as running:
        yield running


def client(server: RerankServer, protocol: Protocol, key: str | None = None) -> HttpReranker:
    model = "some/model" if protocol == "jina" else None
    return HttpReranker(server.url, protocol=protocol, model=model, api_key=key, timeout_seconds=TIMEOUT_SECONDS)


both_protocols = pytest.mark.parametrize("protocol", ["tei", "jina"])


@both_protocols
@pytest.mark.parametrize("fault", ["", "shuffled"])
def test_scores_come_in_the_order_of_the_texts(server: RerankServer, protocol: Protocol, fault: Fault) -> None:
    server.fault = fault
    assert client(server, protocol).score(QUESTION, TEXTS).tolist() == EXPECTED
    assert client(server, protocol).score(QUESTION, []).tolist() == []
    assert len(server.requests) == 1


def test_each_protocol_is_sent_as_its_servers_expect_it(server: RerankServer) -> None:
    for protocol in ("tei", "jina"):
        client(server, protocol).score(QUESTION, TEXTS)
    (_, tei), (_, jina) = server.requests
    assert tei == {"query": QUESTION, "texts": list(TEXTS), "truncate": True}
    assert jina == {"model": "some/model", "query": QUESTION, "documents": list(TEXTS), "top_n": len(TEXTS)}


@both_protocols
def test_more_texts_than_a_server_takes_at_once_go_in_several_requests(
    server: RerankServer, protocol: Protocol
) -> None:
    many = [TEXTS[n % len(TEXTS)] for n in range(70)]
    found = client(server, protocol).score(QUESTION, many)
    assert found.tolist() == [EXPECTED[n % len(TEXTS)] for n in range(70)]
    assert [len(body.get("texts") or body["documents"]) for _, body in server.requests] == [32, 32, 6]


def test_only_the_key_of_the_settings_is_sent(
    server: RerankServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login other password secret", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    client(server, "tei", key="abc").score(QUESTION, TEXTS)
    client(server, "tei").score(QUESTION, TEXTS)
    assert [headers.get("Authorization") for headers, _ in server.requests] == ["Bearer abc", None]


@both_protocols
@pytest.mark.parametrize("fault", NOT_ANSWERED)
def test_a_server_that_does_not_answer_is_not_waited_for(
    server: RerankServer, protocol: Protocol, fault: Fault
) -> None:
    server.fault = fault
    started = time.monotonic()
    with pytest.raises(RerankerUnavailable):
        client(server, protocol).score(QUESTION, TEXTS)
    assert time.monotonic() - started < 2 * TIMEOUT_SECONDS
    assert len(server.requests) == 1


@both_protocols
@pytest.mark.parametrize("fault", UNUSABLE)
def test_an_answer_that_cannot_be_used_is_refused(server: RerankServer, protocol: Protocol, fault: Fault) -> None:
    server.fault = fault
    with pytest.raises(RerankingFailed):
        client(server, protocol).score(QUESTION, TEXTS)


@both_protocols
def test_an_unusable_answer_quotes_no_text(server: RerankServer, protocol: Protocol) -> None:
    server.fault = "text"
    with pytest.raises(RerankingFailed) as failure:
        client(server, protocol).score(QUESTION, TEXTS)
    assert "0.5" not in str(failure.value)


def test_nobody_listening_is_unavailable(server: RerankServer) -> None:
    gone = HttpReranker("http://127.0.0.1:9/rerank", protocol="tei", model=None, api_key=None, timeout_seconds=1)
    with pytest.raises(RerankerUnavailable, match="does not answer"):
        gone.score(QUESTION, TEXTS)
    assert not server.requests


@pytest.mark.parametrize(("fault", "asked"), [("slow", 1), ("429", 1), ("500", 2)])
def test_a_server_that_is_away_or_busy_is_left_alone_for_a_moment(
    server: RerankServer, fault: Fault, asked: int
) -> None:
    server.fault = fault
    reranker = client(server, "tei")
    for _ in range(2):
        with pytest.raises(RerankerUnavailable):
            reranker.score(QUESTION, TEXTS)
    assert len(server.requests) == asked


# --- in a search --------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(resources: Resources, server: RerankServer) -> Resources:
    for n, text in enumerate(TEXTS):
        ingest.ingest(Source(f"{n}.txt", str(n), "text/plain", text), "k", resources)
    return configured(resources, reranker_url=server.url, reranker_timeout_seconds=TIMEOUT_SECONDS)


def configured(resources: Resources, **changes: Any) -> Resources:
    made = replace(resources, settings=resources.settings.model_copy(update=changes))
    made.__dict__["backends"] = resources.backends
    return made


def search(filled: Resources, ranking: Ranking) -> SearchResult:
    return pipeline.search(Question(QUESTION, "k", ranking), filled)


def test_a_search_is_reranked_by_the_server(filled: Resources, server: RerankServer) -> None:
    result = search(filled, HTTP)
    assert [hit.rerank_score for hit in result.hits] == sorted(EXPECTED, reverse=True)
    assert [hit.source for hit in result.hits] == ["3.txt", "0.txt", "1.txt", "2.txt"]
    scores = np.array([hit.rerank_score for hit in result.hits])
    bonus = 10 * (scores - scores.min()) / np.ptp(scores)
    assert [hit.score - hit.fused for hit in result.hits] == pytest.approx(bonus.tolist())
    assert all(hit.span_cosine is not None for hit in result.hits)  # refusals need them whoever reranks
    assert result.degraded == ()
    assert len(server.requests) == 1


def test_no_connection_waits_for_the_server(filled: Resources, server: RerankServer) -> None:
    found: list[Any] = []

    def look() -> None:
        with filled.database.read() as connection:
            found.append(
                connection.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND pid <> pg_backend_pid() AND state <> 'idle' AND application_name = 'ragledger'"
                ).fetchone()
            )

    server.meanwhile = look
    pipeline.answer(Question(QUESTION, "k", HTTP, use_cache=False), filled)
    search(filled, HTTP)
    assert found == [(0,), (0,)]


@pytest.mark.parametrize("fault", ["slow", "500", "truncated", "nan"])
def test_without_the_server_the_order_is_the_fused_one_and_says_so(
    filled: Resources, server: RerankServer, fault: Fault
) -> None:
    plain = search(filled, Ranking(reranker="none"))
    server.fault = fault
    result = search(filled, replace(HTTP, rerank_min_score=0.5))
    assert result.degraded == ("rerank",)
    assert [(hit.chunk_id, hit.score) for hit in result.hits] == [(hit.chunk_id, hit.fused) for hit in plain.hits]
    assert logged(filled, result) == (["rerank"], "http", "", 0)


def test_the_ledger_names_the_reranker_and_keeps_its_scores(filled: Resources, server: RerankServer) -> None:
    assert logged(filled, search(filled, HTTP)) == ([], "http", f"http {server.url}", len(TEXTS))
    assert logged(filled, search(filled, Ranking(reranker="none"))) == ([], "none", "", 0)
    assert logged(filled, search(filled, Ranking(rerank_depth=3))) == ([], "spans", "spans", 3)


def logged(filled: Resources, result: SearchResult) -> Any:
    with filled.database.read() as connection:
        return connection.execute(
            "SELECT q.degraded, q.parameters ->> 'reranker', q.parameters ->> 'reranked_by', count(h.rerank_score)"
            " FROM query_log q JOIN query_hit h ON h.query_id = q.id WHERE q.id = %s GROUP BY q.collection_id, q.id",
            (result.query_id,),
        ).fetchone()


def test_hits_under_the_least_score_leave(filled: Resources) -> None:
    assert [hit.source for hit in search(filled, replace(HTTP, rerank_min_score=0.7)).hits] == ["3.txt", "0.txt"]
    assert search(filled, replace(HTTP, rerank_min_score=2.0)).hits == ()
    # what lies below the depth was not judged, so it does not reach any score
    assert len(search(filled, replace(HTTP, rerank_depth=2, rerank_min_score=-1.0)).hits) == 2
    # and where nothing judges, nothing leaves
    assert len(search(filled, Ranking(reranker="none", rerank_min_score=0.5)).hits) == len(TEXTS)
    assert len(search(filled, replace(HTTP, rerank_depth=0, rerank_min_score=0.5)).hits) == len(TEXTS)


def test_a_question_whose_hits_all_leave_is_refused(filled: Resources) -> None:
    question = Question(QUESTION, "k", replace(HTTP, rerank_min_score=2.0))
    assert pipeline.answer(question, filled).source == "refusal"


def test_a_degraded_answer_is_not_kept(filled: Resources, server: RerankServer) -> None:
    server.fault = "500"
    question = Question(QUESTION, "k", HTTP)
    assert pipeline.answer(question, filled).degraded == ("rerank",)
    server.fault = ""
    second = pipeline.answer(question, filled)
    assert (second.degraded, second.cached) == ((), False)


def test_another_reranker_model_gets_no_answers_of_the_first(filled: Resources) -> None:
    question = Question(QUESTION, "k", HTTP)
    assert not pipeline.answer(question, filled).cached
    assert pipeline.answer(question, filled).cached
    assert not pipeline.answer(question, configured(filled, reranker_model="another")).cached


@pytest.mark.parametrize("empty", [{"rerank_depth": 0}, {"top_k": 1, "candidates": 1}])
def test_what_is_not_reranked_keeps_its_fused_score(filled: Resources, empty: dict[str, int]) -> None:
    ranking = replace(HTTP, **empty)  # type: ignore[arg-type]
    hits = search(filled, ranking).hits
    assert hits
    assert all(hit.rerank_score is None or ranking.rerank_depth for hit in hits)


def test_a_reranker_that_is_not_set_up_is_named(resources: Resources) -> None:
    with pytest.raises(InvalidInput, match="reranker: http needs the setting RERANKER_URL"):
        pipeline.search(Question("a", "k", HTTP), resources)
    with pytest.raises(InvalidInput, match="reranker: cross-encoder needs the setting RERANKER_MODEL"):
        pipeline.search(Question("a", "k", Ranking(reranker="cross-encoder")), resources)


@pytest.mark.skipif(is_installed(), reason="the extra `st` is installed: tests/integration/test_cross_encoder.py runs")
def test_a_cross_encoder_without_its_extra_says_what_to_install(resources: Resources) -> None:
    ready = configured(resources, reranker_model="some/model")
    with pytest.raises(InvalidInput, match=r"pip install -e '\.\[st\]'"):
        pipeline.search(Question("a", "k", Ranking(reranker="cross-encoder")), ready)


def test_the_protocol_follows_from_the_model_unless_it_is_named(filled: Resources, server: RerankServer) -> None:
    search(filled, HTTP)
    search(configured(filled, reranker_model="m"), HTTP)
    search(configured(filled, reranker_model="m", reranker_protocol="tei", reranker_api_key=SecretStr("k")), HTTP)
    assert ["texts" in body for _, body in server.requests] == [True, False, True]
    assert server.requests[2][0]["Authorization"] == "Bearer k"
