"""What holds for every request: problems, ids, headers, the OpenAPI document, health."""

import logging
from collections.abc import Sequence
from typing import NoReturn
from uuid import UUID

import pytest
from api_client import Api, changed, serving
from openapi_spec_validator import validate

from app.api import create_app
from app.api.problems import STATUSES
from app.clients.embedder import Embedder
from app.db.pool import Database
from app.errors import RagledgerError
from app.resources import Resources
from tests.embedders import Away


class BrokenEmbedder(Away):
    """An embedder with a programming error in it."""

    def embed_passages(self, texts: Sequence[str]) -> NoReturn:
        raise KeyError(f"secret of {texts[0]}")


def subclasses(error: type[RagledgerError]) -> set[type[RagledgerError]]:
    return {error}.union(*(subclasses(child) for child in error.__subclasses__()))


def test_every_error_of_the_domain_has_a_status() -> None:
    assert set(STATUSES) == {error for error in subclasses(RagledgerError) if error.__module__ == "app.errors"}


def test_a_part_that_is_away_is_a_503_that_names_no_host(resources: Resources, embedder: Embedder) -> None:
    lost = Database("postgresql://secret@127.0.0.1:1/none", max_connections=1, timeout_seconds=1)
    with serving(changed(resources, database=lost)) as api:
        away = api("POST", "/documents", json={"source": "a.txt", "text": "Some text."})
        assert away.status_code == 503
        assert away.headers["Content-Type"] == "application/problem+json"
        assert int(away.headers["Retry-After"]) > 0
        assert away.json()["type"] == "/problems/database-unavailable"
        assert "secret" not in away.text
    lost.close()
    with serving(changed(resources, embedder=Away(embedder.identity))) as api:
        ready = api("GET", "/health/ready")
        assert (ready.status_code, ready.json()["parts"]["embedder"]) == (200, "unavailable")


def test_without_the_embedder_a_search_goes_on_by_bm25_and_says_so(resources: Resources, embedder: Embedder) -> None:
    with serving(resources) as api:
        api.add("a.txt", "Some text about roasters.")
    with serving(changed(resources, embedder=Away(embedder.identity))) as api:
        found = api.search("roasters")
        assert found["degraded"] == ["vector"]
        assert found["hits"][0]["cosine"] is None
        assert found["hits"][0]["bm25"] > 0


def test_a_surprise_is_a_500_without_internals_and_a_traceback_in_the_log(
    resources: Resources, embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(changed(resources, embedder=BrokenEmbedder(embedder.identity))) as api:
        broken = api("POST", "/documents", json={"source": "a.txt", "text": "x"}, headers={"X-Request-ID": "here"})
    assert broken.status_code == 500
    assert broken.headers["Content-Type"] == "application/problem+json"
    assert broken.json()["request_id"] == "here"
    for word in ("secret", "KeyError", "Traceback", ".py"):
        assert word not in broken.text
    logged = next(record for record in caplog.records if "http.surprise" in record.getMessage())
    assert logged.exc_info


def test_without_the_database_the_service_lives_but_is_not_ready(resources: Resources) -> None:
    nowhere = Database("postgresql://postgres@127.0.0.1:1/none", max_connections=1, timeout_seconds=0.5)
    with serving(changed(resources, database=nowhere)) as api:
        ready = api("GET", "/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "unavailable")
        assert ready.json()["parts"]["database"] == "unavailable"
        assert api("GET", "/health/live").json() == {"status": "ok"}
        away = api("POST", "/search", json={"question": "roasters"})
        assert (away.status_code, away.json()["type"]) == (503, "/problems/database-unavailable")
        assert "127.0.0.1" not in away.text
    nowhere.close()


def test_tables_that_are_missing_or_of_another_version_are_not_ready(api: Api, resources: Resources) -> None:
    assert api("GET", "/health/ready").json()["status"] == "ok"
    for change in ("UPDATE alembic_version SET version_num = '0000'", "DROP TABLE alembic_version"):
        with resources.database.write() as connection:
            connection.execute(change)
        ready = api("GET", "/health/ready")
        assert ready.status_code == 503
        assert (ready.json()["parts"]["database"], ready.json()["parts"]["migrations"]) == ("ok", "unavailable")


def test_a_sane_request_id_is_kept_and_another_replaced(api: Api) -> None:
    for given in ("4711", "a-B_c.9", "0" * 64):
        assert api("GET", "/health/live", headers={"X-Request-ID": given}).headers["X-Request-ID"] == given
    for given in ("", "a b", "ü".encode().decode("latin-1"), "0" * 65, 'x"y', "a;b"):
        made = api("GET", "/nowhere", headers={"X-Request-ID": given})
        assert UUID(made.headers["X-Request-ID"])
        assert made.json()["request_id"] == made.headers["X-Request-ID"]


def test_one_line_is_logged_per_request_and_never_the_question(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    api.add("a.txt", "Some text.")
    caplog.clear()
    with caplog.at_level(logging.INFO):
        api.search("zwieback marmalade")
        api("GET", "/documents/99")
    lines = [record.getMessage() for record in caplog.records if record.name == "app.api.hooks"]
    assert [line.rsplit(" ms=", 1)[0] for line in lines] == [
        "http.request method=POST route=/search status=200",
        "http.request method=GET route=/documents/<document_id> status=404",
    ]
    assert not any("marmalade" in record.getMessage() for record in caplog.records if record.name != "werkzeug")


def test_responses_are_not_cached_not_framed_and_open_to_no_other_site(api: Api) -> None:
    for response in (api("GET", "/health/live"), api("GET", "/nowhere"), api("POST", "/ask", json={})):
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert not [name for name in response.headers if name.startswith("Access-Control-")]
    assert api("PUT", "/search").headers["Allow"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_a_page_of_another_site_cannot_write(api: Api, headers: dict[str, str], status: int) -> None:
    api.add("a.txt", "Some text.")
    assert api("POST", "/search", json={"question": "text"}, headers=headers).status_code == status
    assert api("GET", "/collections", headers=headers).status_code == 200


def test_the_openapi_document_is_valid_and_lists_every_route(resources: Resources) -> None:
    app = create_app(resources)
    reply = app.test_client().get("/openapi.json")
    document = reply.get_json()
    validate(document)
    listed = {(path, method) for path, item in document["paths"].items() for method in item}
    served = {
        (rule.rule.replace("<path:", "{").replace("<", "{").replace(">", "}"), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule != "/openapi.json"
    }
    assert listed == served
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(operation["summary"] for operation in operations)
    assert "商務艙" in reply.get_data(as_text=True)
    body = document["components"]["schemas"]["SearchBody"]
    assert (body["additionalProperties"], body["properties"]["top_k"]["maximum"]) == (False, 100)
