"""Searches, answers, curated pairs and the ledger over HTTP."""

import pytest
from api_client import Api, changed, serving

from app.clients.cache import Cache
from app.resources import Resources

WARRANTY = "The SP15 roaster has a warranty of 24 months from the day of delivery."
FILTER = "The chaff filter of the SP15 is cleaned after every tenth roast."
QUESTION = "How many months of warranty has the SP15?"
HIT_FIELDS = {
    *("rank", "chunk_id", "document_id", "source", "title", "section", "page", "line", "start_char", "end_char"),
    *("text", "text_sha256", "cosine", "bm25", "vector_rank", "bm25_rank", "vector_norm", "bm25_norm", "fused"),
    *("span_cosine", "coverage", "rerank_score", "score", "also_found_in", "passage"),
}


@pytest.fixture
def filled(api: Api) -> Api:
    """A service that knows two documents."""
    api.add("warranty.txt", WARRANTY)
    api.add("filter.txt", FILTER)
    return api


def test_a_search_returns_hits_with_every_score(filled: Api) -> None:
    found = filled.search(QUESTION)
    assert found["hits"][0]["source"] == "warranty.txt"
    assert [hit["rank"] for hit in found["hits"]] == [1, 2]
    assert all(set(hit) == HIT_FIELDS for hit in found["hits"])
    assert found["degraded"] == []
    assert found["collection"] == "default"
    assert found["timings_ms"]["total"] > 0


def test_a_search_by_url_is_the_same_search(filled: Api) -> None:
    by_body = filled.search(QUESTION, top_k=1, vector_weight=0, b=0)
    by_url = filled("GET", "/search", params={"question": QUESTION, "top_k": 1, "vector_weight": 0, "b": 0}).json()
    assert len(by_url["hits"]) == 1
    assert by_url["hits"] == by_body["hits"]


def test_the_ledger_has_the_parameters_and_scores_of_a_search(filled: Api) -> None:
    found = filled.search(QUESTION, top_k=1, candidates=50, rerank_weight=0.1)
    logged = filled("GET", f"/queries/{found['query_id']}").json()
    assert (logged["kind"], logged["question"], logged["collection"]) == ("search", QUESTION, "default")
    assert (logged["parameters"]["candidates"], logged["parameters"]["rerank_weight"]) == (50, 0.1)
    assert [hit["rank"] for hit in logged["hits"]] == [1, 2]
    assert [hit["picked"] for hit in logged["hits"]] == [True, False]
    best = found["hits"][0]
    for score in ("cosine", "bm25", "fused", "span_cosine", "rerank_score", "score"):
        assert logged["hits"][0][score] == pytest.approx(best[score], abs=1e-9)


def test_an_answer_quotes_its_document_and_is_in_the_ledger(filled: Api) -> None:
    answer = filled.ask(QUESTION)
    assert answer["source"] == "corpus"
    assert answer["citations"][0]["source"] == "warranty.txt"
    citation = answer["citations"][0]
    assert WARRANTY[citation["start_char"] : citation["end_char"]] == citation["quote"]
    logged = filled("GET", f"/queries/{answer['query_id']}").json()
    assert (logged["kind"], logged["answer"]) == ("ask", answer["text"])
    assert logged["citations"] == answer["citations"]


def test_the_second_answer_is_cached_until_a_document_is_added(filled: Api) -> None:
    first = filled.ask(QUESTION)
    second = filled("POST", "/chat", json={"question": QUESTION}).json()
    assert (first["cached"], second["cached"]) == (False, True)
    assert second["text"] == first["text"]
    assert second["query_id"] != first["query_id"]
    assert filled.ask(QUESTION, use_cache=False)["cached"] is False
    filled.add("news.txt", "The canteen opens at eleven.")
    assert filled.ask(QUESTION)["cached"] is False


def test_no_answer_comes_from_a_deleted_or_disabled_document_nor_from_the_cache(filled: Api) -> None:
    first = filled.ask(QUESTION)
    assert filled.ask(QUESTION)["cached"] is True
    place = f"/documents/{first['citations'][0]['document_id']}"
    filled("PATCH", place, json={"state": "disabled"})
    for _ in range(2):
        assert "24 months" not in str(filled.ask(QUESTION))
    filled("PATCH", place, json={"state": "active"})
    assert filled.ask(QUESTION)["text"] == first["text"]
    filled("DELETE", place)
    for _ in range(2):
        assert "24 months" not in str(filled.ask(QUESTION))


def test_a_curated_pair_answers_until_it_is_disabled_or_deleted(filled: Api) -> None:
    made = filled("POST", "/qa-pairs", json={"question": "退货期限是多久?", "answer": "七天。"})
    assert made.status_code == 201
    place = made.headers["Location"]
    assert filled("GET", place).json() == made.json()
    assert "退货期限" in made.text
    answer = filled.ask("  退貨期限是多久？")
    assert (answer["source"], answer["text"], answer["generator"]) == ("qa", "七天。", "curated")
    assert filled("PATCH", place, json={"answer": "十四天。"}).json()["answer"] == "十四天。"
    assert filled.ask("退货期限是多久?")["text"] == "十四天。"
    filled("PATCH", place, json={"state": "disabled"})
    assert filled.ask("退货期限是多久?")["source"] != "qa"
    filled("PATCH", place, json={"state": "active"})
    assert filled.ask("退货期限是多久?")["source"] == "qa"
    assert filled("DELETE", place).status_code == 204
    assert filled.ask("退货期限是多久?")["source"] != "qa"


def test_a_question_has_one_curated_answer(filled: Api) -> None:
    pairs = [{"question": f"Question {n}?", "answer": "Yes."} for n in range(3)]
    ids = [filled("POST", "/qa-pairs", json=pair).json()["id"] for pair in pairs]
    taken = filled("POST", "/qa-pairs", json={"question": " question 0 ?", "answer": "No."})
    assert taken.status_code == 409
    assert taken.json()["type"] == "/problems/conflict"
    assert filled("PATCH", f"/qa-pairs/{ids[1]}", json={"question": "Question 0"}).status_code == 409
    page = filled("GET", "/qa-pairs", params={"limit": 2}).json()
    assert [pair["id"] for pair in page["qa_pairs"]] == ids[:2]
    rest = filled("GET", "/qa-pairs", params={"after": page["next_after"]}).json()
    assert ([pair["id"] for pair in rest["qa_pairs"]], rest["next_after"]) == (ids[2:], None)


def test_without_redis_answers_come_uncached_and_say_so(resources: Resources) -> None:
    away = Cache("redis://127.0.0.1:1/0", timeout_seconds=0.2)
    with serving(changed(resources, cache=away)) as api:
        api.add("warranty.txt", WARRANTY)
        for _ in range(2):
            answer = api.ask(QUESTION)
            assert (answer["source"], answer["cached"], answer["degraded"]) == ("corpus", False, ["cache"])
        ready = api("GET", "/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert ready.json()["parts"] == {"database": "ok", "migrations": "ok", "cache": "unavailable", "embedder": "ok"}
