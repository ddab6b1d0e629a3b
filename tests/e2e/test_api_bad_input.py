"""Whatever a caller sends: a problem that names the field, never a traceback."""

import json
import re
from typing import Any, cast

import pytest
import requests
from api_client import Api, changed, serving

from app.resources import Resources

JSON = {"Content-Type": "application/json"}
DEEP = "[" * 100_000 + "]" * 100_000
NESTED: Any = {}
for _ in range(30):
    NESTED = {"inner": NESTED}

QUESTION = {"question": "a"}
DOCUMENT = {"source": "a.txt", "text": "Some text."}
PAIR = {"question": "Who?", "answer": "Me."}
NAN, INFINITY = float("nan"), float("inf")
LONG = "x" * 1_000_000
NO_TEXTS = ["", " \n\t", "\u3000", "a\0b", "\ud800", "a\udfff", 5, 1.5, None, True, ["a"], {"a": 1}]
NO_NAMES = [*NO_TEXTS, "a\nb", "\x1b[2J", "\u2028", LONG]

BODIES: list[tuple[str, dict[str, Any], str, list[Any]]] = [
    ("/search", {}, "question", [*NO_TEXTS, LONG]),
    ("/ask", {}, "question", [*NO_TEXTS, LONG]),
    ("/chat", {}, "question", [*NO_TEXTS, LONG]),
    ("/search", QUESTION, "top_k", [0, -1, 10**9, 2**80, "5", 5.5, True, None, NAN, INFINITY, [], {}]),
    ("/search", QUESTION, "candidates", [0, 1_001, "9", None]),
    ("/search", QUESTION, "vector_weight", [-0.1, 1.1, "1", NAN, True, None]),
    ("/search", QUESTION | {"bm25_weight": 0}, "vector_weight", [0]),
    ("/search", QUESTION, "fusion", ["", "RRF", "magic", 1, None]),
    ("/search", QUESTION, "rrf_k", [0, 1_001, 1.5, "60"]),
    ("/search", QUESTION, "rerank_depth", [-1, 201, 1.5]),
    ("/search", QUESTION, "rerank_weight", [-1, 11, INFINITY, None]),
    ("/search", QUESTION, "reranker", ["", "magic", "http", "cross-encoder", None]),
    ("/search", QUESTION, "rerank_coverage_weight", [-0.1, 1.1, "1"]),
    ("/search", QUESTION, "rerank_min_score", [NAN, INFINITY, "0", None]),
    ("/search", QUESTION, "k1", [-1, -INFINITY, 10**400]),
    ("/search", QUESTION, "confidence_c0", [0, -1, 1.1]),
    ("/search", QUESTION, "colour", ["red"]),
    ("/search", QUESTION, "filters", [None, [], "{}", 5, {"metadata": {"a": ["x" * 99] * 999}}]),
    ("/search", QUESTION, "filters.colour", ["red"]),
    ("/search", QUESTION, "filters.metadata.a.like", ["%"]),
    ("/search", QUESTION, "filters.metadata", [None, [], "a", {str(n): n for n in range(51)}]),
    ("/search", QUESTION, "filters.metadata.a", [{}, {"gt": 1, "gte": 2}]),
    ("/search", QUESTION, "filters.metadata.a.eq", [None, [1], NAN, "\0"]),
    ("/search", QUESTION, "filters.metadata.a.gte", [None, True, [], {}, INFINITY, "\ud800"]),
    ("/search", QUESTION, "filters.metadata.a.in", [None, [], "a", [None], [{}], [["a"]], list(range(1_001))]),
    ("/search", QUESTION, "filters.metadata.a.exists", [None, 1, "yes"]),
    ("/search", QUESTION, "filters.source_prefix", [*NO_TEXTS, "x" * 501]),
    ("/search", QUESTION, "filters.section", NO_TEXTS),
    ("/search", QUESTION, "filters.document_ids", [None, [], 5, ["5"], [0], [2**63], [1.5], [True]]),
    ("/ask", QUESTION, "filters.updated_at", [None, {}, "2026-01-01"]),
    ("/ask", QUESTION, "filters.updated_at.eq", ["2026-01-01"]),
    ("/ask", QUESTION, "filters.created_at.gte", [None, 5, "", "yesterday", "2026-13-01", True]),
    ("/ask", QUESTION, "collection", ["nowhere", *NO_NAMES]),
    ("/ask", QUESTION, "use_cache", ["yes", 1, None]),
    ("/documents", DOCUMENT, "source", NO_NAMES),
    ("/documents", DOCUMENT, "text", [*NO_TEXTS, "\u200b"]),
    ("/documents", DOCUMENT, "title", [*NO_TEXTS, LONG]),
    ("/documents", DOCUMENT, "media_type", ["application/pdf", "", "a\0", None]),
    ("/documents", DOCUMENT, "metadata", [None, [], "a", 5, NESTED, {"a": LONG}, {"a": [0] * 100_000}]),
    ("/documents", DOCUMENT, "metadata", [{"a": [{"b": value}]} for value in ["\0", "\ud800", NAN, INFINITY]]),
    ("/documents", DOCUMENT, "metadata", [{"\0": 1}, {"a": {"\ud800": 1}}]),
    ("/documents", DOCUMENT, "collection", [" a", "a ", *NO_NAMES]),
    ("/ingest", DOCUMENT, "text", NO_TEXTS),
    ("/qa-pairs", PAIR, "question", ["?!", *NO_TEXTS, LONG]),
    ("/qa-pairs", PAIR, "answer", [*NO_TEXTS, LONG]),
    ("/qa-pairs", PAIR, "collection", ["nowhere", *NO_NAMES]),
]

RAW: list[tuple[bytes, dict[str, str], int]] = [
    (b'{"question": ', JSON, 400),
    (b'{"question": "a"} trailing', JSON, 400),
    (b"[]", JSON, 400),
    (b"5", JSON, 400),
    (b"null", JSON, 400),
    (b'"{\\"question\\": \\"a\\"}"', JSON, 400),
    (b"", JSON, 400),
    (b"", {}, 400),
    (b'{"question": "\xff\xfe"}', JSON, 400),
    (b"\x00", JSON, 400),
    (DEEP.encode(), JSON, 400),
    (b'{"question": "a", "x": ' + DEEP.encode() + b"}", JSON, 400),
    (b'{"question": "a", "top_k": ' + b"9" * 5_000 + b"}", JSON, 400),
    (json.dumps({str(n): n for n in range(5_000)}).encode(), JSON, 400),
    (b'{"question": "a", "\\ud800": 1}', JSON, 422),
    (b'{"question": "a"}', {"Content-Type": "text/plain"}, 415),
    (b'{"question": "a"}', {}, 415),
    (b"question=a", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
    (b"\x1f\x8b", JSON | {"Content-Encoding": "gzip"}, 415),
]

URLS: list[tuple[str, str, int, str | None]] = [
    ("GET", "/search", 422, "question"),
    ("GET", "/search?question=", 422, "question"),
    ("GET", "/search?question=%00", 422, "question"),
    ("GET", "/search?question=a&top_k=0", 422, "top_k"),
    ("GET", "/search?question=a&top_k=many", 422, "top_k"),
    ("GET", "/search?question=a&top_k=5.5", 422, "top_k"),
    ("GET", "/search?question=a&vector_weight=nan", 422, "vector_weight"),
    ("GET", "/search?question=a&k1=inf", 422, "k1"),
    ("GET", "/search?question=a&colour=red", 422, "colour"),
    ("GET", "/search?question=a&filters={", 422, "filters"),
    ("GET", "/search?question=a&filters=[]", 422, "filters"),
    ("GET", "/search?question=a&filters=", 422, "filters"),
    ("GET", '/search?question=a&filters={"metadata":{"a":{"gte":[]}}}', 422, "filters.metadata.a.gte"),
    ("GET", "/search?question=a&collection=nowhere", 404, "collection"),
    ("GET", "/documents?collection=nowhere", 404, "collection"),
    ("GET", f"/documents?after={2**70}", 422, "after"),
    ("GET", "/documents?limit=0", 422, "limit"),
    ("GET", "/documents?limit=" + "9" * 5_000, 422, "limit"),
    ("GET", "/documents/99", 404, None),
    ("GET", "/documents/0", 422, "document_id"),
    ("GET", "/documents/-1", 422, "document_id"),
    ("GET", "/documents/abc", 422, "document_id"),
    ("GET", f"/documents/{2**70}", 422, "document_id"),
    ("DELETE", f"/documents/{2**63 - 1}", 404, None),
    ("DELETE", f"/documents/{2**63}", 422, "document_id"),
    ("GET", "/documents/99/chunks", 404, None),
    ("GET", f"/documents/1/chunks?after={2**40}", 422, "after"),
    ("GET", "/collections/nowhere", 404, "collection"),
    ("GET", "/collections/%00", 422, "name"),
    ("DELETE", "/collections/nowhere", 404, "collection"),
    ("GET", "/queries/not-a-uuid", 422, "query_id"),
    ("GET", "/queries/%00", 422, "query_id"),
    ("GET", "/queries/00000000-0000-4000-8000-000000000000", 404, None),
    ("GET", "/qa-pairs/99", 404, None),
    ("GET", f"/qa-pairs/{2**70}", 422, "qa_pair_id"),
    ("DELETE", "/qa-pairs/99", 404, None),
    ("GET", "/nowhere", 404, None),
    ("GET", "/%ff%00", 404, None),
    ("PUT", "/documents", 405, None),
    ("DELETE", "/search", 405, None),
    ("GET", "/ask", 405, None),
]


def problem(response: requests.Response, status: int | None = None) -> dict[str, Any]:
    """The problem a response must be."""
    assert 400 <= response.status_code < 500, response.text
    assert status in {None, response.status_code}, response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["status"] == response.status_code
    assert body["type"].startswith("/problems/")
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == response.headers["X-Request-ID"]
    assert "Traceback" not in response.text
    assert len(response.text) < 4_000
    return body


def _nested(field: str, value: Any) -> dict[str, Any]:
    """A dotted field is a member of objects."""
    for part in reversed(field.split(".")):
        value = {part: value}
    return cast(dict[str, Any], value)


def test_every_unusable_value_in_a_body_is_refused_by_the_name_of_its_field(api: Api) -> None:
    for path, rest, field, values in BODIES:
        for value in values:
            response = api("POST", path, data=json.dumps({**rest, **_nested(field, value)}), headers=JSON)
            found = problem(response)
            assert re.sub(r"\.\d+$", "", found["field"]) == field, (path, str(value)[:80], found)  # or an element of it
            assert found["errors"][0]["message"]
            assert "x" * 100 not in response.text
    assert api("GET", "/collections").json() == {"collections": []}


@pytest.mark.parametrize("path", ["/search", "/ask", "/documents", "/qa-pairs"])
def test_every_body_that_is_no_json_object_is_refused(api: Api, path: str) -> None:
    for data, headers, status in RAW:
        found = problem(api("POST", path, data=data, headers=headers), status)
        assert found.get("field") == (None if status == 415 else "body"), (data[:40], found)


def test_every_unusable_url_is_refused(api: Api) -> None:
    for method, path, status, field in URLS:
        found = problem(api(method, path), status)
        assert found.get("field") == field, (method, path, found)


@pytest.mark.parametrize("given", ["", "now", "0", "0/16B3748, 0/16B3748", "-1/0", "0/123456789"])
def test_a_position_that_is_none_is_refused_by_the_name_of_its_header(api: Api, given: str) -> None:
    for method, path in (("GET", "/documents"), ("POST", "/search"), ("GET", "/nowhere")):
        refused = api(method, path, headers={"Ragledger-Position": given})
        assert (refused.status_code, refused.json()["field"]) == (400, "Ragledger-Position")


def test_a_write_tells_its_position_and_a_later_read_may_name_it(api: Api) -> None:
    added = api("POST", "/documents", json={"source": "a.txt", "text": "Some text."})
    position = {"Ragledger-Position": added.headers["Ragledger-Position"]}
    assert api("POST", "/search", json={"question": "text"}, headers=position).status_code == 200
    assert "Ragledger-Position" not in api("GET", "/documents").headers


def test_a_byte_order_mark_and_a_repeated_key_are_no_reason_to_refuse(api: Api) -> None:
    api.add("a.txt", "Some text.")
    data = b'\xef\xbb\xbf{"question": "first", "question": "some text"}'
    response = api("POST", "/search", data=data, headers=JSON)
    assert response.status_code == 200
    assert api("GET", f"/queries/{response.json()['query_id']}").json()["question"] == "some text"


def test_a_patch_must_name_what_to_change(api: Api) -> None:
    added = api.add("a.txt", "Some text.")
    pair = api("POST", "/qa-pairs", json=PAIR).json()
    for path in (f"/documents/{added['document_id']}", f"/qa-pairs/{pair['id']}"):
        for body in ({"state": "gone"}, {"state": None}, {"state": ""}, {"name": "x"}, {}):
            assert problem(api("PATCH", path, json=body), 422)["field"]
    assert problem(api("PATCH", f"/qa-pairs/{pair['id']}", json={"question": ""}), 422)["field"] == "question"


def test_a_body_over_the_limit_is_refused_before_it_is_read(resources: Resources) -> None:
    small = changed(resources, settings=resources.settings.model_copy(update={"request_max_bytes": 10_000}))
    with serving(small) as api:
        found = problem(api("POST", "/documents", json={**DOCUMENT, "text": "x" * 20_000}), 413)
        assert found["field"] == "body"
        problem(api("POST", "/documents", files={"file": ("a.txt", b"x" * 20_000)}), 413)


def test_a_document_over_the_limit_is_refused(resources: Resources) -> None:
    small = changed(resources, settings=resources.settings.model_copy(update={"document_max_bytes": 1_000}))
    with serving(small) as api:
        assert problem(api("POST", "/documents", json={**DOCUMENT, "text": "字" * 400}), 422)["field"] == "text"
        assert "a.txt" in problem(api("POST", "/documents", files={"file": ("a.txt", b"x" * 2_000)}), 422)["detail"]


def test_a_bad_upload_is_refused(api: Api) -> None:
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    for data, headers in (
        (b"", form),
        (b"--x\r\nbroken", form),
        (b"--x\r\n", {"Content-Type": "multipart/form-data"}),
        (b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file name\r\n--x--\r\n', form),
        (b'--x\r\nContent-Disposition: form-data; name="file"; filename="a\x00.txt"\r\n\r\ntext\r\n--x--\r\n', form),
    ):
        assert problem(api("POST", "/documents", data=data, headers=headers), 422)["field"] == "file"
    sent = {"file": ("a.txt", b"Some text.")}
    assert problem(api("POST", "/documents", files=sent, data={"colour": "red"}), 422)["field"] == "colour"
    assert problem(api("POST", "/documents", files=sent, data={"collection": ""}), 422)["field"] == "collection"
    assert problem(api("POST", "/documents", files={"other": ("a.txt", b"x")}), 422)["field"] in {"file", "other"}
    assert problem(api("POST", "/documents", files={"file": ("", b"x")}), 422)["field"] == "file"
