"""How PostgreSQL runs the vector statements: their own plans, with their own values, in their own transaction."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from crowd import WORDS, Crowd, build_index, gather

from app.db import filters, vectors
from app.db.pool import Db
from app.query import nearest
from app.records import Asked, Filters, Question, Ranking
from app.resources import Resources

FORBIDDEN = re.compile(r"Seq Scan on (embedding|span|chunk|document)")

LITERALS = re.compile(r"'\[[^]]*\]'|'\{[\d,]*\}'")
SELECT = re.compile(r"(--.*\n)*SELECT")
INDEX = r"Index Scan using embedding_s\d+_embedding_idx"


class Explained:
    """A connection that explains every SELECT before it runs it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.plans: list[str] = []

    def execute(self, query: Any, values: Any = None, **rest: Any) -> Any:
        return self._run(self.connection, query, values, rest)

    def pipeline(self) -> Any:
        return nullcontext()  # each plan is wanted at once

    def cursor(self, **rest: Any) -> Any:
        cursor = self.connection.cursor(**rest)
        outer = self

        class Explaining:
            pgresult = property(lambda _: cursor.pgresult)

            def execute(self, query: Any, values: Any = None, **rest: Any) -> Any:
                return outer._run(cursor, query, values, rest)

        return Explaining()

    def _run(self, where: Any, query: Any, values: Any, rest: Any) -> Any:
        text = query if isinstance(query, str) else query.decode()
        if SELECT.match(text):
            rows = self.connection.execute("EXPLAIN (COSTS OFF) " + text, values, prepare=False).fetchall()
            self.plans.append(LITERALS.sub("…", "\n".join(row[0] for row in rows)))
        return where.execute(query, values, **rest)


@pytest.fixture
def crowd(resources: Resources, database_url: str) -> Crowd:
    rng = np.random.default_rng(4)
    gather(resources, "another space", 50, rng, dim=8)
    gather(resources, "neighbour", 500, rng)
    crowd = gather(resources, "crowd", 2_000, rng)
    build_index(crowd, resources, database_url)
    return crowd


def plans(resources: Resources, call: Callable[[Db], Any]) -> list[str]:
    with resources.database.read() as snapshot:
        explained = Explained(snapshot)
        call(cast(Db, explained))
    return explained.plans


def searched(crowd: Crowd, resources: Resources, wanted: Filters, *, exact_scan_max: int = 0) -> str:
    """The plan of the statement that compares vectors, in a search from end to end."""
    question = Question("?", "crowd", Ranking(candidates=20), wanted)
    asked = Asked(question, crowd.collection, WORDS[:2], crowd.members[7].vector)
    settings = resources.settings.model_copy(update={"exact_scan_max": exact_scan_max})

    def call(snapshot: Db) -> None:
        plan = nearest.plan(asked, snapshot, len(crowd.members), settings)
        nearest.chunks(asked, snapshot, plan, nearest.listed(asked, snapshot, plan))

    (found,) = [plan for plan in plans(resources, call) if "<=>" in plan]
    return found


def test_an_unfiltered_search_of_a_large_collection_is_one_index_scan(crowd: Crowd, resources: Resources) -> None:
    plan = searched(crowd, resources, Filters())
    assert re.search(INDEX, plan), plan
    assert not FORBIDDEN.search(plan.replace("Seq Scan on document", "", 1)), plan  # whether any is disabled
    assert "Sort" not in plan


def test_a_broad_filter_is_asked_of_one_candidate_at_a_time(crowd: Crowd, resources: Resources) -> None:
    for wanted in (Filters({"half": {"eq": 0}}), Filters(source_prefix="files/"), Filters(section="Part A")):
        plan = searched(crowd, resources, wanted)
        assert re.search(INDEX, plan), plan
        assert "SubPlan" in plan
        assert "Sort" not in plan
        assert not FORBIDDEN.search(plan), plan
        assert "chunk_pkey" in plan


def test_a_narrow_filter_comes_first(crowd: Crowd, resources: Resources) -> None:
    plan = searched(crowd, resources, Filters({"tags": {"eq": "y7"}}))
    assert not re.search(INDEX, plan), plan
    assert re.search(r"embedding_s\d+_pkey", plan), plan
    assert not FORBIDDEN.search(plan), plan


def test_an_exact_scan_reads_its_own_space_only(crowd: Crowd, resources: Resources) -> None:
    plan = searched(crowd, resources, Filters(), exact_scan_max=100_000)
    assert not re.search(INDEX, plan), plan
    assert {*re.findall(r"on (embedding_s\d+)", plan)} == {f"embedding_s{crowd.collection.space.id}"}
    assert re.search(r"Limit\n\s*->  Sort", plan), plan  # on top of all: the best are kept while it reads


def test_each_filter_finds_its_index(crowd: Crowd, resources: Resources) -> None:
    for wanted, index in (
        (Filters({"tags": {"eq": "y7"}}), "document_metadata_idx"),
        (Filters({"tags": {"in": ["y7", "y8"]}, "n": {"gte": 5}}), "document_metadata_idx"),
        (Filters(source_prefix="handbook/12"), "document_source_prefix_idx"),
        (Filters(section="Nowhere"), "chunk_section_prefix_idx"),
        (Filters(document_ids=(1, 2, 3)), "document_(pkey|id_idx)"),
    ):
        (plan,) = plans(
            resources, partial(filters.allowed, collection_id=crowd.collection.id, filters=wanted, limit=500)
        )
        assert re.search(index, plan), plan
        assert not FORBIDDEN.search(plan), plan


def test_chunks_and_spans_are_read_by_id(crowd: Crowd, resources: Resources) -> None:
    ids = np.array([member.id for member in crowd.members[:20]], np.int64)
    vector = crowd.members[0].vector
    for call in (
        lambda snapshot: vectors.cosines(snapshot, crowd.collection, vector, ids),
        lambda snapshot: vectors.of_chunks(snapshot, crowd.collection, ids.tolist()),
        lambda snapshot: vectors.span_scores(snapshot, crowd.collection, vector, ids.tolist()),
        lambda snapshot: filters.allowed(snapshot, crowd.collection.id, Filters(section="C"), among=ids),
    ):
        (plan,) = plans(resources, call)
        assert not FORBIDDEN.search(plan), plan
        assert "embedding_s" not in plan or {*re.findall(r"embedding_s(\d+)", plan)} == {str(crowd.collection.space.id)}


def test_after_many_executions_in_one_session_the_plans_are_still_these(crowd: Crowd, resources: Resources) -> None:
    """psycopg prepares a statement at its fifth execution, and PostgreSQL may then plan it without its values."""
    settings = resources.settings.model_copy(update={"exact_scan_max": 0})
    wanted = [Filters(), Filters({"half": {"eq": 0}}), Filters({"tags": {"eq": "y7"}})]
    with resources.database.read() as snapshot:
        for n in range(45):
            question = Question("?", "crowd", Ranking(candidates=20), wanted[n % 3])
            asked = Asked(question, crowd.collection, WORDS[:2], crowd.members[n].vector)
            plan = nearest.plan(asked, snapshot, len(crowd.members), settings)
            found, scan = nearest.chunks(asked, snapshot, plan, nearest.listed(asked, snapshot, plan))
            assert scan == ("exact" if n % 3 == 2 else "hnsw")
            vectors.cosines(snapshot, crowd.collection, crowd.members[n].vector, found[0])
            vectors.span_scores(snapshot, crowd.collection, crowd.members[n].vector, found[0].tolist())
        prepared = snapshot.execute(
            "SELECT name, statement, cardinality(parameter_types) FROM pg_prepared_statements WHERE statement ~ '<=>'"
        ).fetchall()
        assert len(prepared) == 2  # by id: neither of those that rank
        snapshot.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        for name, statement, count in prepared:
            assert "LIMIT" not in statement
            nothing = ", ".join(["NULL"] * count)
            rows = snapshot.execute(f'EXPLAIN (COSTS OFF) EXECUTE "{name}"({nothing})').fetchall()
            assert not FORBIDDEN.search("\n".join(row[0] for row in rows)), rows
