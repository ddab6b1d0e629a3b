"""`/lexicon`: words entered, in effect after a while, removed again."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from api_client import Api, serving

from app.api import create_app
from app.api.context import retokenizer_of
from app.resources import Resources

PRODUCT = "黛峰烘豆机"


def tokens(api: Api, question: str = PRODUCT) -> list[str]:
    query = api("GET", f"/queries/{api.search(question)['query_id']}").json()
    assert query["tokenizer"]
    found: list[str] = query["tokens"]
    return found


def within_a_while(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def in_effect(api: Api) -> bool:
    return bool(api("GET", "/lexicon").json()["pending"] == [])


def test_a_word_is_in_effect_after_a_while_and_gone_after_its_removal(api: Api) -> None:
    api.add("a.txt", f"{PRODUCT}每小时可烘二公斤。")
    assert PRODUCT not in tokens(api)
    added = api("POST", "/lexicon", json={"kind": "user_word", "terms": ["黛峯烘豆機", "黛峰烘豆机"]})
    assert (added.status_code, added.json()) == (202, {"added": [PRODUCT]})
    assert within_a_while(lambda: in_effect(api))
    assert PRODUCT in tokens(api)
    (entry,) = api("GET", "/lexicon").json()["entries"]
    assert entry == {"id": entry["id"], "kind": "user_word", "term": PRODUCT, "collection": "default"}
    assert api("DELETE", f"/lexicon/{entry['id']}").status_code == 204
    assert within_a_while(lambda: in_effect(api))
    assert PRODUCT not in tokens(api)
    assert api("DELETE", f"/lexicon/{entry['id']}").status_code == 404


def test_words_are_listed_by_collection_and_page(api: Api) -> None:
    api.add("a.txt", "Some text.", collection="a")
    api.add("b.txt", "Some text.", collection="b")
    for scope in ({"collection": "a"}, {"collection": "b"}, {"all_collections": True}):
        assert api("POST", "/lexicon", json={"kind": "stopword", "terms": ["text"], **scope}).ok
    listed = api("GET", "/lexicon", params={"collection": "a"}).json()["entries"]
    assert [entry["collection"] for entry in listed] == ["a", None]
    first = api("GET", "/lexicon", params={"limit": 2}).json()
    second = api("GET", "/lexicon", params={"limit": 2, "after": first["next_after"]}).json()
    assert (len(first["entries"]), len(second["entries"]), second["next_after"]) == (2, 1, None)
    assert within_a_while(lambda: in_effect(api))


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"kind": "user_word"}, 422, "terms"),
        ({"kind": "user_word", "terms": []}, 422, "terms"),
        ({"kind": "user_word", "terms": ["——"]}, 422, "terms"),
        ({"kind": "user_word", "terms": ["x" * 65]}, 422, "terms"),
        ({"kind": "user_word", "terms": ["a\nb"]}, 422, "terms.0"),
        ({"kind": "user_word", "terms": ["a\0b"]}, 422, "terms.0"),
        ({"kind": "user_word", "terms": [5]}, 422, "terms.0"),
        ({"kind": "user_word", "terms": ["x"] * 1001}, 422, "terms"),
        ({"kind": "stopword", "terms": ["two words"]}, 422, "terms"),
        ({"kind": "synonym", "terms": ["x"]}, 422, "kind"),
        ({"kind": "user_word", "terms": ["x"], "collection": "nobody"}, 404, "collection"),
        ({"kind": "user_word", "terms": ["x"], "collection": "a", "all_collections": True}, 422, "body"),
        ({"kind": "user_word", "terms": ["x"], "all_collections": "yes"}, 422, "all_collections"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(api: Api, body: dict[str, Any], status: int, field: str) -> None:
    refused = api("POST", "/lexicon", json=body)
    assert (refused.status_code, refused.json()["field"]) == (status, field)
    assert api("GET", "/lexicon").json()["entries"] == []


@pytest.mark.parametrize("path", ["/lexicon/0", "/lexicon/x", f"/lexicon/{2**63}"])
def test_an_id_that_is_none_is_refused(api: Api, path: str) -> None:
    assert api("DELETE", path).status_code == 422


def test_a_service_that_starts_brings_its_indexes_up_to_date(resources: Resources) -> None:
    with serving(resources) as api:
        api.add("a.txt", f"{PRODUCT}每小时可烘二公斤。")
        with resources.database.write() as connection:
            connection.execute("UPDATE lexical_segment SET tokenizer = 'ragledger-1 jieba-0.42.1'")
        assert not in_effect(api)
        starting = retokenizer_of(create_app(resources))
        starting.wake()
        assert within_a_while(lambda: in_effect(api))
        starting.stop()
