"""Filters over HTTP: the same by body and by URL, for searches and answers."""

import json
from typing import Any

import pytest
from api_client import Api

HANDBOOK = [
    ("handbook/travel.md", "# Travel\n\nBook trains early.\n\n## Abroad\n\nA passport is needed.", "HR", 2019, ["en"]),
    ("handbook/leave.md", "# Leave\n\nThere are 25 days of leave.", "HR", 2024, ["en", "zh"]),
    ("machines/kettle.md", "# Kettle\n\nThe kettle holds 12 litres.", "kitchen", 2024, ["en"]),
]


@pytest.fixture
def filled(api: Api) -> Api:
    for source, text, department, year, languages in HANDBOOK:
        metadata = {"department": department, "year": year, "lang": languages}
        api.add(source, text, media_type="text/markdown", metadata=metadata)
    return api


def by_body(api: Api, filters: dict[str, Any]) -> set[str]:
    return {hit["source"].split("/")[1] for hit in api.search("leave", filters=filters)["hits"]}


def by_url(api: Api, filters: dict[str, Any]) -> set[str]:
    found = api("GET", "/search", params={"question": "leave", "filters": json.dumps(filters)})
    assert found.ok, found.text
    return {hit["source"].split("/")[1] for hit in found.json()["hits"]}


@pytest.mark.parametrize(
    ("filters", "sources"),
    [
        ({}, {"travel.md", "leave.md", "kettle.md"}),
        ({"metadata": {"department": "HR"}}, {"travel.md", "leave.md"}),
        ({"metadata": {"year": {"gte": 2020}, "department": "HR"}}, {"leave.md"}),
        ({"metadata": {"lang": {"in": ["zh", "de"]}}}, {"leave.md"}),
        ({"metadata": {"year": "2024"}}, set()),
        ({"metadata": {"owner": {"exists": True}}}, set()),
        ({"source_prefix": "handbook/"}, {"travel.md", "leave.md"}),
        ({"section": "Travel"}, {"travel.md"}),
        ({"updated_at": {"gte": "2020-01-01"}, "created_at": {"lt": "2100-01-01T00:00:00+08:00"}}, 3),
        ({"updated_at": {"lt": "2020-01-01"}}, set()),
    ],
)
def test_a_search_finds_what_its_filters_allow(filled: Api, filters: dict[str, Any], sources: Any) -> None:
    found = by_body(filled, filters)
    assert len(found) == sources if isinstance(sources, int) else found == sources
    assert by_url(filled, filters) == found


def test_document_ids_narrow_a_search_and_an_answer(filled: Api) -> None:
    documents = filled("GET", "/documents").json()["documents"]
    kettle = next(d["id"] for d in documents if d["source"].endswith("kettle.md"))
    assert by_body(filled, {"document_ids": [kettle]}) == {"kettle.md"}
    answer = filled.ask("How many litres does the kettle hold?", filters={"document_ids": [kettle]})
    assert answer["citations"][0]["source"] == "machines/kettle.md"
    elsewhere = filled.ask("How many litres does the kettle hold?", filters={"source_prefix": "handbook/"})
    assert all(hit["source"].startswith("handbook/") for hit in elsewhere["hits"])
    assert not elsewhere["cached"]


def test_the_filters_are_described_in_the_openapi_document(api: Api) -> None:
    document = api("GET", "/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert schemas["SearchBody"]["properties"]["filters"]["$ref"].endswith("/FiltersBody")
    assert {"eq", "in", "gt", "gte", "lt", "lte", "exists"} == set(schemas["ValueConditions"]["properties"])
    parameters = {p["name"]: p for p in document["paths"]["/search"]["get"]["parameters"]}
    assert parameters["filters"]["schema"]["type"] == "string"
