"""Vector recall by either scan, over a space that two collections and disabled documents share."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from crowd import Crowd, Member, build_index, gather, nearest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.db import wire
from app.records import Filters, Vector
from app.resources import Resources

HNSW: dict[str, Any] = {"exact_scan_max": 0}
EXACT: dict[str, Any] = {"exact_scan_max": 1_000_000}


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def questions(crowd: Crowd, n: int) -> list[Vector]:
    """Members moved a little, as a question lies near its passages."""
    chosen = np.stack([crowd.members[i].vector for i in rng(n).choice(len(crowd.members), n, replace=False)])
    moved = chosen + 0.25 * rng(n).standard_normal(chosen.shape) / np.sqrt(chosen.shape[1])
    return list((moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32))


@pytest.fixture
def crowd(resources: Resources) -> Crowd:
    gather(resources, "neighbour", 100, rng(1))
    return gather(resources, "crowd", 600, rng(2))


@pytest.fixture
def indexed(crowd: Crowd, resources: Resources, database_url: str) -> Crowd:
    build_index(crowd, resources, database_url)
    return crowd


@given(
    rows=st.integers(0, 40),
    dim=st.integers(1, 5),
    half=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_vectors_written_in_bulk_are_those_that_postgresql_holds(
    resources: Resources, rows: int, dim: int, half: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_BLOCK_BYTES", 100)  # several blocks
    values: NDArray[np.floating[Any]] = rng(seed).standard_normal((rows, dim)).astype("f2" if half else "f4")
    ids, small = rng(seed).integers(-(2**63), 2**63, rows), np.arange(rows, dtype=np.int32)
    kind = "halfvec" if half else "vector"
    with resources.database.write() as connection:
        connection.execute(f"CREATE TEMP TABLE t (one int8, id int8, n int4, v {kind}) ON COMMIT DROP")
        with connection.cursor() as cursor, cursor.copy("COPY t FROM STDIN (FORMAT binary)") as copy:
            for block in wire.to_rows((7, ids, small), values):
                copy.write(block)
        found = connection.execute("SELECT one, id, n, v FROM t ORDER BY n", prepare=False).fetchall()
    assert [row[:3] for row in found] == [(7, i, n) for n, i in enumerate(ids.tolist())]
    assert all((row[3].to_numpy() == value).all() for row, value in zip(found, values, strict=True))


def test_ids_go_to_postgresql_as_one_array(resources: Resources) -> None:
    ids = np.array([5, -(2**62), 2**63 - 1], np.int64)
    with resources.database.read() as connection:
        for given_ids in (ids, ids[::2], ids[:0]):
            row = connection.execute("SELECT %s", (wire.Bigints(given_ids),)).fetchone()
            assert row is not None
            assert row[0] == given_ids.tolist()


def test_an_exact_scan_finds_what_numpy_finds(crowd: Crowd, resources: Resources) -> None:
    for vector in questions(crowd, 5):
        found = crowd.recalled(resources, vector, **EXACT)
        assert found.vector_scan == "exact"
        order = np.argsort(np.where(found.vector_rank > 0, found.vector_rank, 10**9))[:10]
        assert found.chunk_ids[order].tolist() == nearest(crowd.members, vector, 10)


def test_an_index_scan_finds_nearly_all_that_an_exact_one_finds(indexed: Crowd, resources: Resources) -> None:
    recalls = []
    for vector in questions(indexed, 30):
        found = indexed.recalled(resources, vector, **HNSW)
        assert found.vector_scan == "hnsw"
        near = found.chunk_ids[found.vector_rank > 0].tolist()
        assert len(near) == 10
        recalls.append(len({*near} & {*nearest(indexed.members, vector, 10)}) / 10)
    assert np.mean(recalls) > 0.97


@pytest.mark.parametrize("wanted", ["half", "department", "y", "nothing", "section"])
def test_a_filter_never_returns_fewer_than_there_are(indexed: Crowd, resources: Resources, wanted: str) -> None:
    made, keeps = cast(
        tuple[Filters, Callable[[Member], bool]],
        {
            "half": (Filters({"half": {"eq": 0}}), lambda m: m.metadata["half"] == 0),
            "department": (Filters({"department": {"eq": "d3"}}), lambda m: m.metadata["department"] == "d3"),
            "y": (Filters({"tags": {"eq": "y7"}}), lambda m: "y7" in m.metadata["tags"]),
            "nothing": (Filters({"n": {"gt": 10**9}}), lambda _: False),
            "section": (Filters(section="Part A > B"), lambda m: m.section == "Part A > B"),
        }[wanted],
    )
    allowed = [member for member in indexed.members if keeps(member)]
    for vector in questions(indexed, 8):
        exact = indexed.recalled(resources, vector, filters=made, limit=20, **EXACT)
        either = indexed.recalled(resources, vector, filters=made, limit=20, **HNSW)
        assert either.vector_scan == ("hnsw" if wanted == "half" else "exact")
        best = nearest(allowed, vector, 20)
        assert {*exact.chunk_ids[exact.vector_rank > 0].tolist()} == {*best}
        near = either.chunk_ids[either.vector_rank > 0].tolist()
        assert len(near) == min(20, len(allowed))
        assert len({*near} & {*best}) >= 0.9 * len(best)
        assert {*either.chunk_ids.tolist()} <= {member.id for member in allowed}
        lexical = [m.id for m in allowed if {"kettle", "copper"} & {*m.words}]
        assert (either.bm25_rank > 0).sum() == min(20, len(lexical))
        assert (exact.bm25[exact.bm25_rank > 0] == either.bm25[either.bm25_rank > 0]).all()
        assert not np.isnan(either.cosine).any()


def test_an_index_that_finds_too_few_is_not_believed(indexed: Crowd, resources: Resources) -> None:
    """The nearest half of all is disabled, so that the scan gives up among it."""
    vector = indexed.members[0].vector
    near = {*nearest(indexed.members, vector, len(indexed.members) // 2)}
    for document_id in {m.document_id for m in indexed.members if m.id in near}:
        with resources.database.write() as connection:
            connection.execute("UPDATE document SET state = 'disabled' WHERE id = %s", (document_id,))
    left = [m for m in indexed.members if m.document_id not in {x.document_id for x in indexed.members if x.id in near}]
    found = indexed.recalled(resources, vector, **HNSW, hnsw_ef_search=40)
    assert found.vector_scan == "exact"
    assert {*found.chunk_ids[found.vector_rank > 0].tolist()} == {*nearest(left, vector, 10)}


def test_an_index_in_half_precision_returns_the_cosines_of_the_stored_vectors(
    crowd: Crowd, resources: Resources, database_url: str
) -> None:
    made = build_index(crowd, resources, database_url, hnsw_halfvec=True)
    assert made.indexed_type == "halfvec(24)"
    vectors_of = {member.id: member.vector for member in crowd.members}
    for vector in questions(crowd, 5):
        found = crowd.recalled(resources, vector, **HNSW)
        assert found.vector_scan == "hnsw"
        near = found.vector_rank > 0
        cosines = [float(vectors_of[i].astype(float) @ vector.astype(float)) for i in found.chunk_ids[near].tolist()]
        assert found.cosine[near] == pytest.approx(cosines, abs=1e-6)


@pytest.mark.parametrize(
    ("dim", "documents", "indexed_type"), [(700, 250, "vector(700)"), (2_100, 100, "halfvec(2100)")]
)
def test_vectors_stored_out_of_line_are_found_by_their_index(
    resources: Resources, database_url: str, dim: int, documents: int, indexed_type: str
) -> None:
    crowd = gather(resources, "wide", documents, rng(), dim=dim)
    assert build_index(crowd, resources, database_url).indexed_type == indexed_type
    for vector in questions(crowd, 5):
        found = crowd.recalled(resources, vector, limit=2, **HNSW)
        assert found.vector_scan == "hnsw"
        assert {*found.chunk_ids[found.vector_rank > 0].tolist()} == {*nearest(crowd.members, vector, 2)}
