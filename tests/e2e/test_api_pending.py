"""Documents that no embedder answered for, over HTTP."""

from collections.abc import Iterator

import pytest
from api_client import Api, changed, serving

from app.clients.embedder import Embedder
from app.ingest.retry import retry
from app.resources import Resources
from tests.embedders import Away

TEXT = "The steel kettle holds 30 litres."


@pytest.fixture
def away(resources: Resources, embedder: Embedder) -> Iterator[Api]:
    """The service without an embedder."""
    with serving(changed(resources, embedder=Away(embedder.identity))) as client:
        yield client


def test_a_document_without_an_embedder_is_accepted_and_found_later(api: Api, away: Api, resources: Resources) -> None:
    accepted = away("POST", "/documents", json={"source": "kettle.txt", "text": TEXT})
    assert accepted.status_code == 202
    assert accepted.json()["outcome"] == "pending"
    assert accepted.json()["document_id"] is None
    assert "secret" not in accepted.text
    assert away.search("kettle litres")["hits"] == []
    assert away("GET", "/collections/default").json()["pending"] == 1
    [waiting] = away("GET", "/pending-documents").json()["pending"]
    assert (waiting["source"], waiting["problem"], waiting["attempts"]) == ("kettle.txt", "embedder-unavailable", 1)
    assert "secret" not in away("GET", "/pending-documents").text
    assert [outcome.outcome for outcome in retry("default", resources)] == ["added"]
    assert [hit["text"] for hit in api.search("kettle litres")["hits"]] == [TEXT]
    assert api("GET", "/collections/default").json()["pending"] == 0


def test_files_without_an_embedder_are_accepted_but_for_the_bad_ones(away: Api) -> None:
    good, bad = ("file", ("a.txt", b"A text.")), ("file", ("b.txt", b"a\0b"))
    assert away("POST", "/documents", files=[good]).status_code == 202
    mixed = away("POST", "/documents", files=[good, bad])
    assert mixed.status_code == 207
    assert [document["outcome"] for document in mixed.json()["documents"]] == ["pending", "failed"]


def test_what_waits_is_listed_by_page_and_can_be_withdrawn(away: Api) -> None:
    for n in range(3):
        away.add(f"{n}.txt", f"Text {n}.")
    first = away("GET", "/pending-documents", params={"limit": 2}).json()
    rest = away("GET", "/pending-documents", params={"limit": 2, "after": first["next_after"]}).json()
    assert [waiting["source"] for waiting in first["pending"] + rest["pending"]] == ["0.txt", "1.txt", "2.txt"]
    assert rest["next_after"] is None
    path = f"/pending-documents/{first['pending'][0]['id']}"
    assert [away("DELETE", path).status_code for _ in range(2)] == [204, 404]
    assert away("DELETE", path, params={"collection": "nowhere"}).status_code == 404
    assert away("GET", "/collections/default").json()["pending"] == 2
