"""Filters against a re-computation in Python, over documents as hostile as JSON allows."""

import itertools
import operator
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from app.db import collections, filters
from app.db.pool import Db
from app.ingest import pipeline as ingest
from app.query import pipeline, qa
from app.records import Collection, Filters, ModelIdentity, Question, Source, Space, Splitting
from app.resources import Resources

EXAMPLE = itertools.count()
# few of each, so that they meet; with all that could end a string, an SQL text, a pattern or a jsonpath
HOSTILE = ['"', "'", "\\", "a%", "a_", "$.a", '") || ($.b ? (@ == "b"', "年", "🫖", "\n", "10"]
TEXTS = st.sampled_from(["a", "b", "", *HOSTILE])
NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -0.0, 1.0, 1e300, -1e-300, 2**70, 10]))
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans())
VALUES = st.one_of(SCALARS, st.none(), st.lists(st.one_of(SCALARS, st.none()), max_size=3), st.just({"a": 1}))
METADATA = st.dictionaries(TEXTS, VALUES, max_size=4)
CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "eq": SCALARS,
        "in": st.lists(SCALARS, min_size=1, max_size=3),
        "gt": st.one_of(TEXTS, NUMBERS),
        "gte": st.one_of(TEXTS, NUMBERS),
        "lt": st.one_of(TEXTS, NUMBERS),
        "lte": st.one_of(TEXTS, NUMBERS),
        "exists": st.booleans(),
    },
).filter(bool)
COMPARED: Mapping[str, Any] = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


def holds(metadata: Mapping[str, Any], wanted: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a document's metadata meets all conditions."""
    return all(_meets(metadata.get(key), conditions) for key, conditions in wanted.items())


def _meets(value: Any, conditions: Mapping[str, Any]) -> bool:
    elements = value if isinstance(value, list) else [value]
    there = any(element is not None for element in elements)
    compared = {name: asked for name, asked in conditions.items() if name != "exists"}
    return conditions.get("exists", there) == there and (
        not compared or any(all(_holds(element, *item) for item in compared.items()) for element in elements)
    )


def _holds(element: Any, name: str, asked: Any) -> bool:
    if name == "in":
        return any(_holds(element, "eq", each) for each in asked)
    kinds = [next((k for k in (bool, str, (int, float)) if isinstance(x, k)), None) for x in (element, asked)]
    if kinds[0] is None or kinds[0] != kinds[1]:
        return False
    return bool(element == asked if name == "eq" else COMPARED[name](element, asked))


def write(connection: Db, name: str, documents: list[dict[str, Any]]) -> tuple[Collection, dict[int, int]]:
    """Documents of one chunk each: {chunk id: its document's place in the list}."""
    collection = collections.ensure(connection, name, Space(0, ModelIdentity("test", "none", 2, "", "")), Splitting())
    place = {}
    for n, columns in enumerate(documents):
        values = {"metadata": {}, "section": "", "created_at": datetime.now(UTC), "source": str(n), **columns}
        values |= {"metadata": Jsonb(values["metadata"]), "collection_id": collection.id}
        row = connection.execute(
            """WITH d AS (
                   INSERT INTO document (collection_id, source, title, media_type, content, characters, content_sha256,
                                         metadata, created_at, updated_at)
                   VALUES (%(collection_id)s, %(source)s, '', '', '', 0, '', %(metadata)s, %(created_at)s,
                           %(created_at)s) RETURNING id)
               INSERT INTO chunk (collection_id, document_id, ordinal, start_char, end_char, text, text_sha256, section)
               SELECT %(collection_id)s, id, 0, 0, 1, '', '', %(section)s FROM d RETURNING id""",
            values,
        ).fetchone()
        assert row is not None
        place[row[0]] = n
    return collection, place


def found(connection: Db, written: tuple[Collection, dict[int, int]], wanted: Filters) -> list[int]:
    """The places of the documents that a filter lets pass."""
    ids = filters.allowed(connection, written[0].id, wanted).tolist()
    assert ids == sorted(ids)
    return [written[1][i] for i in ids]


@given(documents=st.lists(METADATA, max_size=8), wanted=st.dictionaries(TEXTS, CONDITIONS, min_size=1, max_size=2))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_metadata_filters_agree_with_python_on_any_json(
    resources: Resources, documents: list[dict[str, Any]], wanted: dict[str, dict[str, Any]]
) -> None:
    with resources.database.write() as connection:
        written = write(connection, f"example {next(EXAMPLE)}", [{"metadata": metadata} for metadata in documents])
        expected = [n for n, metadata in enumerate(documents) if holds(metadata, wanted)]
        for index_is_used in ("on", "off"):
            connection.execute("SELECT set_config('enable_seqscan', %s, true)", (index_is_used,))
            assert found(connection, written, Filters(wanted)) == expected
        assert filters.estimate(connection, written[0].id, Filters(wanted)) >= 1


PREFIXES = st.text(alphabet="a%_\\/> 年", min_size=0, max_size=4)


@given(names=st.lists(PREFIXES, max_size=8, unique=True), prefix=PREFIXES, section=PREFIXES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_character_of_a_prefix_or_a_section_is_a_wildcard(
    resources: Resources, names: list[str], prefix: str, section: str
) -> None:
    assume(prefix or section)
    with resources.database.write() as connection:
        documents: list[dict[str, Any]] = [{"source": name, "section": name} for name in names]
        below = {"source": "below", "section": f"{section} > x"}
        written = write(connection, f"example {next(EXAMPLE)}", [*documents, below])
        by_prefix = [n for n, name in enumerate([*names, "below"]) if name.startswith(prefix)]
        assert found(connection, written, Filters(source_prefix=prefix)) == by_prefix
        if section:
            sections = enumerate([*names, f"{section} > x"])
            below_it = [n for n, name in sections if name == section or name.startswith(f"{section} > ")]
            assert found(connection, written, Filters(section=section)) == below_it


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ({"gte": 2}, [2, 3, 4]),
        ({"gt": 2}, [3, 4]),
        ({"lt": 2}, [0, 1]),
        ({"lte": 2}, [0, 1, 2]),
        ({"gt": 0, "lte": 2}, [1, 2]),
        ({"gte": 3, "lt": 3}, []),
        ({"gte": 4, "lt": 1}, []),
    ],
)
def test_moments_are_compared_as_moments(resources: Resources, asked: dict[str, int], days: list[int]) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    bounds = {name: start + timedelta(days=day) for name, day in asked.items()}
    with resources.database.write() as connection:
        written = write(connection, "k", [{"created_at": start + timedelta(days=day)} for day in range(5)])
        assert found(connection, written, Filters(created_at=bounds)) == days
        assert found(connection, written, Filters(updated_at=bounds)) == days


def test_all_that_is_given_must_hold_and_disabled_documents_are_never_found(resources: Resources) -> None:
    with resources.database.write() as connection:
        documents = [{"source": f"{where}/{n}", "metadata": {"n": n}} for where in ("a", "b") for n in range(3)]
        written = write(connection, "k", documents)
        wanted = Filters({"n": {"gte": 1}}, source_prefix="b/")
        assert found(connection, written, wanted) == [4, 5]
        ids = [row[0] for row in connection.execute("SELECT document_id FROM chunk ORDER BY id")]
        assert found(connection, written, Filters(document_ids=(ids[5], ids[0], 10**9))) == [0, 5]
        connection.execute("UPDATE document SET state = 'disabled' WHERE id = %s", (ids[5],))
        assert found(connection, written, wanted) == [4]


@pytest.fixture
def library(resources: Resources) -> Resources:
    for n, (name, department) in enumerate([("travel", "HR"), ("leave", "HR"), ("kettle", "kitchen")]):
        metadata = {"department": department, "n": n}
        ingest.ingest(Source(f"{name}.md", name, "text/plain", f"All about {name}.", metadata), "k", resources)
    return resources


def sources(resources: Resources, wanted: Filters) -> set[str]:
    return {hit.source for hit in pipeline.search(Question("kettle", "k", filters=wanted), resources).hits}


def test_a_search_finds_only_what_its_filters_allow_and_keeps_them_in_the_ledger(library: Resources) -> None:
    wanted = Filters({"department": {"eq": "HR"}}, updated_at={"gte": datetime(2020, 1, 1, tzinfo=UTC)})
    assert sources(library, Filters()) == {"travel.md", "leave.md", "kettle.md"}
    assert sources(library, wanted) == {"travel.md", "leave.md"}
    assert sources(library, Filters({"department": {"eq": "none"}})) == set()
    with library.database.read() as connection:
        rows = connection.execute("SELECT parameters -> 'filters', vector_scan FROM query_log ORDER BY at").fetchall()
    assert [row[0] for row in rows][:2] == [
        {},
        {"metadata": {"department": {"eq": "HR"}}, "updated_at": {"gte": "2020-01-01 00:00:00+00:00"}},
    ]
    assert {row[1] for row in rows} == {"exact"}


def test_an_answer_is_kept_for_its_own_filters_only(library: Resources) -> None:
    question = "All about the kettle?"
    everything = pipeline.answer(Question(question, "k"), library)
    narrowed = Question(question, "k", filters=Filters({"department": {"eq": "HR"}}))
    other = pipeline.answer(narrowed, library)
    assert not other.cached
    assert {hit.source for hit in other.hits} == {"travel.md", "leave.md"}
    assert pipeline.answer(Question(question, "k"), library).cached
    again = pipeline.answer(narrowed, library)
    assert again.cached
    assert again.text == other.text != everything.text


def test_a_question_with_filters_is_not_answered_by_a_curated_pair(library: Resources) -> None:
    qa.add("k", "Which kettle?", "The copper one.", library)
    assert pipeline.answer(Question("Which kettle?", "k"), library).source == "qa"
    narrowed = Question("Which kettle?", "k", filters=Filters(source_prefix="travel"))
    assert pipeline.answer(narrowed, library).source != "qa"
