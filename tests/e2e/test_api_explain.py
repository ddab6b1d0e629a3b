"""What the API explains, what the ledger keeps and what SQL recomputes: the same, after any history of changes."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from api_client import Api
from psycopg.rows import dict_row

from app.ingest.compact import TIER

WARRANTY = "# 保修\n\n保修期为两年。退货时需要出示保修卡和发票。\n\n磨豆机（grinder）的保修期为一年。"
ERRORS = (
    "# Errors\n\nE11000 is a duplicate key error. Clear the error with `reset_key`.\n\nE12: no water in the grinder."
)
WATER = "# Water\n\nUse soft water. Descale every two months; the grinder needs no water."
MANUAL = "\n\n".join(f"# Part {n}\n\n" + f"Step {n} cleans the grinder of part {n}. " * 12 for n in range(1, 7))
QUESTIONS = ("warranty 保修 of the grinder, the grinder", "How do I clear error E11000?", "zzz")
PARAMETERS: tuple[dict[str, Any], ...] = (
    {},
    {"expand_tokens": 300, "top_k": 4},
    {"fusion": "zscore", "reranker": "overlap", "k1": 0.9, "b": 0.3},
    {"fusion": "rrf", "rrf_k": 7, "rerank_coverage_weight": 0.3},
    {"fusion": "weighted_rrf", "vector_weight": 0.2, "reranker": "none", "collapse_duplicates": False},
    {"fusion": "score", "candidates": 5, "rerank_depth": 3},
    {"fusion": "minmax", "bm25_weight": 0.9, "rerank_weight": 1.5, "top_k": 2},
)
near = pytest.approx


@pytest.fixture
def database(database_url: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        yield connection


def change(api: Api) -> None:
    """Add, update, delete, disable, enable, repeat; enough documents that segments are merged."""
    texts = {"warranty.md": WARRANTY, "errors.md": ERRORS, "water.md": WATER, "manual.md": MANUAL, "copy.md": WARRANTY}
    ids = {source: api.add(source, text, media_type="text/markdown")["document_id"] for source, text in texts.items()}
    api.add("errors.md", ERRORS + "\n\nE13000 has no remedy.", media_type="text/markdown")
    api("PATCH", f"/documents/{ids['water.md']}", json={"state": "disabled"})
    api("PATCH", f"/documents/{ids['warranty.md']}", json={"state": "disabled"})
    api("PATCH", f"/documents/{ids['warranty.md']}", json={"state": "active"})
    for n in range(TIER):
        api.add(f"note{n}.md", f"Note {n}: the grinder is loud.", media_type="text/markdown")
    api("DELETE", f"/documents/{api.add('gone.md', 'The grinder is gone.')['document_id']}")


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_api_ledger_and_sql_agree(
    parameters: dict[str, Any], api: Api, database: psycopg.Connection[dict[str, Any]]
) -> None:
    change(api)
    for question in QUESTIONS:
        found = api.search(question, explain=True, **parameters)
        rows = by_chunk(database, "SELECT * FROM query_hit WHERE query_id = %s", found["query_id"])
        again = by_chunk(database, "SELECT * FROM ragledger_audit.explain(%s)", found["query_id"])
        assert found["hits"]
        for hit, explained in zip(found["hits"], found["explanation"]["hits"], strict=True):
            agree_on_scores(hit, rows[hit["chunk_id"]], again[hit["chunk_id"]])
            agree_on_steps(hit, explained, again[hit["chunk_id"]])
        agree_on_terms(found, database)
        agree_on_paths(found, database)
        agree_on_collapses(found, rows)
        verdict = database.execute("SELECT * FROM ragledger_audit.verdict(%s)", (found["query_id"],)).fetchall()
        assert {row["verdict"] for row in verdict} <= {"agrees", "taken as stored", "nothing to compare"}


def by_chunk(database: psycopg.Connection[dict[str, Any]], statement: str, query_id: str) -> dict[int, dict[str, Any]]:
    return {row["chunk_id"]: row for row in database.execute(statement.encode(), (query_id,))}


def agree_on_scores(hit: dict[str, Any], row: dict[str, Any], again: dict[str, Any]) -> None:
    for score in ("cosine", "bm25", "vector_norm", "bm25_norm", "fused", "span_cosine", "rerank_score", "score"):
        assert hit[score] == near(row[score], abs=1e-9)
        if again[f"{score}_recomputed"] is not None:
            assert hit[score] == near(again[f"{score}_recomputed"], abs=1e-5)
    for score in ("cosine", "bm25", "fused", "score"):
        assert again[f"{score}_recomputed"] is not None


def agree_on_steps(hit: dict[str, Any], explained: dict[str, Any], again: dict[str, Any]) -> None:
    for rank in ("vector_rank", "bm25_rank", "fused_rank", "final_rank"):
        assert explained[rank] == again[rank]
    assert (explained["reranked_rank"], explained["final_rank"]) == (again["rank"], hit["rank"])
    assert explained["other_language"] == again["other_language"]
    parts = [explained[f"{part}_part"] for part in ("vector", "bm25", "rerank")]
    assert sum(parts) == near(again["score_recomputed"], abs=1e-5)
    assert sum(term["score"] for term in explained["terms"]) == near(again["bm25_recomputed"], abs=1e-5)
    if again["span_cosine"] is not None:
        span = explained["best_span"]
        assert span["cosine"] == near(again["span_cosine_recomputed"], abs=1e-5)
        assert (span["start_char"], span["end_char"]) == (again["span_start_char"], again["span_end_char"])
        assert hit["text"][span["start_char"] : span["end_char"]] == span["text"]


def agree_on_terms(found: dict[str, Any], database: psycopg.Connection[dict[str, Any]]) -> None:
    counted = database.execute("SELECT * FROM ragledger_audit.terms(%s)", (found["query_id"],)).fetchall()
    for explained in found["explanation"]["hits"]:
        of_hit = {row["term"]: row for row in counted if row["chunk_id"] == explained["chunk_id"]}
        assert {term["term"] for term in explained["terms"]} == of_hit.keys()
        for term in explained["terms"]:
            row = of_hit[term["term"]]
            assert (term["tf"], term["df"], term["count"]) == (row["tf"], row["df"], row["count"])
            assert explained["length"] == row["length"]
            assert (term["idf"], term["score"]) == near((row["idf"], row["score"]), abs=1e-5)
            assert found["explanation"]["statistics"]["mean_length"] == near(row["mean_length"])


def agree_on_paths(found: dict[str, Any], database: psycopg.Connection[dict[str, Any]]) -> None:
    counted = database.execute("SELECT * FROM ragledger_audit.paths(%s)", (found["query_id"],)).fetchall()
    assert len(counted) == len(found["explanation"]["paths"]) == 3
    for path, row in zip(found["explanation"]["paths"], counted, strict=True):
        assert (path["path"], path["method"]) == (row["path"], row["method"])
        assert (path["known"], path["listed"]) == (row["known"], row["listed"])
        for number in ("weight", "low", "high", "mean", "deviation"):
            assert path[number] == near(row[number], abs=1e-5)
    basis, logged = found["explanation"], database.execute("SELECT * FROM query_log ORDER BY at DESC").fetchone()
    assert logged is not None
    assert basis["confidence"] == near(logged["confidence"])
    for part in ("tokenizer", "tokens", "vector_scan"):
        assert basis[part] == logged[part]
    ratio = basis["best_bm25"] / basis["statistics"]["bound"] / basis["parameters"]["confidence_c0"]
    assert basis["confidence"] == near(min(1, ratio))


def agree_on_collapses(found: dict[str, Any], rows: dict[int, dict[str, Any]]) -> None:
    explained = {each["chunk_id"]: each for each in found["explanation"]["collapses"]}
    assert explained.keys() == {i for i, row in rows.items() if row["collapsed_into"] is not None}
    hits = {hit["chunk_id"] for hit in found["hits"]}
    for chunk_id, each in explained.items():
        row = rows[chunk_id]
        assert (each["into"], each["rank"], each["resemblance"]) == (
            *(row["collapsed_into"], row["rank"], row["resemblance"]),
        )
        assert each["into"] in hits
        assert not row["picked"]


def test_a_duplicate_and_a_merged_neighbour_are_explained(api: Api) -> None:
    change(api)
    found = api.search(QUESTIONS[0], explain=True, expand_tokens=600)
    reasons = {each["reason"] for each in found["explanation"]["collapses"]}
    assert reasons == {"equal text", "part of its passage"}


def test_a_search_that_did_not_ask_is_not_explained(api: Api) -> None:
    api.add("water.md", WATER)
    assert api.search("water")["explanation"] is None
    by_url = api("GET", "/search", params={"question": "water", "explain": "true"}).json()
    assert by_url["explanation"]["hits"][0]["terms"][0]["term"] == "water"
    assert api("POST", "/ask", json={"question": "water", "explain": True}).status_code == 422


def test_a_search_of_nothing_is_explained(api: Api) -> None:
    ids = api.add("water.md", WATER)["document_id"]
    api("DELETE", f"/documents/{ids}")
    explanation = api.search("water", explain=True)["explanation"]
    assert (explanation["hits"], explanation["collapses"], explanation["best_bm25"]) == ([], [], 0.0)
    assert [path["low"] for path in explanation["paths"]] == [None, None, None]
