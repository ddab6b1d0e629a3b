"""Building the vector index: when it is due, online, one at a time, and after one that failed."""

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest
from click.testing import CliRunner
from crowd import Crowd, build_index, gather

from app.cli.index import index as command
from app.db import indexes
from app.db.indexes import Index, Progress
from app.errors import Conflict, InvalidInput
from app.ingest import index
from app.ingest import pipeline as ingest
from app.records import Space
from app.resources import Resources
from app.services import Endpoints


@pytest.fixture
def crowd(resources: Resources) -> Crowd:
    return gather(resources, "crowd", 300, np.random.default_rng(5))


@pytest.fixture
def admin(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def found(resources: Resources, crowd: Crowd) -> list[Index]:
    with resources.database.read() as connection:
        return indexes.find(connection, crowd.collection.space)


def with_settings(resources: Resources, **changes: object) -> Resources:
    return replace(resources, settings=resources.settings.model_copy(update=changes))


def test_an_index_is_due_beyond_exact_scans_and_until_it_is_there(
    crowd: Crowd, resources: Resources, database_url: str
) -> None:
    assert not index.state(crowd.collection, resources).due
    eager = with_settings(resources, exact_scan_max=1_000)
    before = index.state(crowd.collection, eager)
    assert (before.due, before.index) == (True, None)
    assert before.chunks >= len(crowd.members)
    made = build_index(crowd, resources, database_url)
    after = index.state(crowd.collection, eager)
    assert (after.due, after.index) == (False, made)
    assert made.valid
    assert made.indexed_type == "vector(24)"
    assert made.bytes > 0


def test_a_rebuild_replaces_the_index_and_takes_the_settings_type(
    crowd: Crowd, resources: Resources, database_url: str
) -> None:
    first = build_index(crowd, resources, database_url)
    second = build_index(crowd, resources, database_url, hnsw_halfvec=True)
    assert found(resources, crowd) == [second]
    assert second.name != first.name
    assert second.indexed_type == "halfvec(24)"


def test_what_an_interrupted_build_left_is_no_index_and_goes_with_the_next_build(
    crowd: Crowd, resources: Resources, database_url: str, admin: psycopg.Connection
) -> None:
    space = crowd.collection.space.id
    with psycopg.connect(database_url) as writer:  # an older transaction, which the build must wait for
        writer.execute(f"LOCK TABLE embedding_s{space} IN ROW EXCLUSIVE MODE")
        admin.execute("SET statement_timeout = '300ms'")
        columns = "((embedding::vector(24)) vector_cosine_ops)"
        with pytest.raises(psycopg.errors.QueryCanceled):
            admin.execute(f"CREATE INDEX CONCURRENTLY ON embedding_s{space} USING hnsw {columns}")
    (left,) = found(resources, crowd)
    assert not left.valid
    assert index.state(crowd.collection, with_settings(resources, exact_scan_max=0)).due
    assert crowd.recalled(resources, crowd.members[0].vector, exact_scan_max=0).vector_scan == "exact"
    made = build_index(crowd, resources, database_url)
    assert found(resources, crowd) == [made]


def test_an_interrupted_build_leaves_the_old_index_in_use(
    crowd: Crowd, resources: Resources, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = build_index(crowd, resources, database_url)

    def stopped(_: Progress) -> None:
        raise KeyboardInterrupt

    with psycopg.connect(database_url) as writer:
        writer.execute(f"LOCK TABLE embedding_s{crowd.collection.space.id} IN ROW EXCLUSIVE MODE")
        real = index.build

        def interrupted(space: Space, res: Resources, _: index.Watch) -> Index:
            return real(space, res, stopped)

        monkeypatch.setattr(index, "build", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build_index(crowd, resources, database_url)
    assert [each for each in found(resources, crowd) if each.valid] == [old]
    assert not building(resources, crowd)
    assert crowd.recalled(resources, crowd.members[0].vector, exact_scan_max=0).vector_scan == "hnsw"
    monkeypatch.undo()
    made = build_index(crowd, resources, database_url)
    assert found(resources, crowd) == [made]


def test_two_builds_of_one_space_do_not_run_at_once(crowd: Crowd, resources: Resources, database_url: str) -> None:
    outcomes: list[object] = []

    def build() -> None:
        try:
            outcomes.append(build_index(crowd, resources, database_url))
        except Conflict as e:
            outcomes.append(e)

    with psycopg.connect(database_url) as writer:  # holds up the first, so that the second meets it
        writer.execute(f"LOCK TABLE embedding_s{crowd.collection.space.id} IN ROW EXCLUSIVE MODE")
        first = threading.Thread(target=build)
        first.start()
        deadline = time.monotonic() + 20
        while not building(resources, crowd) and time.monotonic() < deadline:
            time.sleep(0.02)
        build()
    first.join()
    assert isinstance(outcomes[0], Conflict)
    assert found(resources, crowd) == [outcomes[1]]


def building(resources: Resources, crowd: Crowd) -> bool:
    with resources.database.read() as connection:
        return indexes.progress(connection, crowd.collection.space) is not None


def test_documents_are_written_and_searched_while_an_index_is_built_online(
    crowd: Crowd, resources: Resources, database_url: str
) -> None:
    thread = threading.Thread(target=build_index, args=(crowd, resources, database_url))
    thread.start()
    late = gather(resources, "late", 20, np.random.default_rng(6))
    assert late.collection.space == crowd.collection.space
    crowd.recalled(resources, crowd.members[0].vector)
    thread.join()
    member = late.members[0]
    found_late = late.recalled(resources, member.vector, limit=1, exact_scan_max=0)
    assert found_late.cosine[found_late.chunk_ids == member.id] == pytest.approx([1], abs=1e-6)


def test_vectors_of_too_many_dimensions_for_an_index_are_scanned(resources: Resources, database_url: str) -> None:
    wide = gather(resources, "wide", 10, np.random.default_rng(7), dim=4_001)
    assert not index.state(wide.collection, with_settings(resources, exact_scan_max=0)).due
    with pytest.raises(InvalidInput, match="4001"):
        build_index(wide, resources, database_url)
    assert wide.recalled(resources, wide.members[0].vector, exact_scan_max=0).vector_scan == "exact"


def test_an_index_is_dropped_with_its_partition(
    crowd: Crowd, resources: Resources, database_url: str, admin: psycopg.Connection
) -> None:
    made = build_index(crowd, resources, database_url)
    admin.execute(f"DROP TABLE embedding_s{crowd.collection.space.id}")
    assert admin.execute("SELECT to_regclass(%s)", (made.name,)).fetchone() == (None,)


@pytest.fixture
def environment(database_url: str, servers: Endpoints, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", servers.redis_url)
    monkeypatch.setenv("RAGLEDGER_HOME", str(home))
    monkeypatch.setenv("EXACT_SCAN_MAX", "1000")


@pytest.mark.usefixtures("environment")
def test_the_command_builds_what_is_due_and_says_what_is_not(crowd: Crowd, resources: Resources) -> None:
    run = CliRunner()
    ingest.open_collection("empty", resources)
    first = run.invoke(command, ["--all"], catch_exceptions=False).output
    assert "crowd: indexed as vector(24) in" in first
    assert "empty: 0 chunks, no index: exact scans up to EXACT_SCAN_MAX=1,000" in first
    second = run.invoke(command, ["--collection", "crowd"], catch_exceptions=False).output
    assert re.search(r"crowd: 1,\d{3} chunks, indexed as vector\(24\)", second)
    third = run.invoke(command, ["--collection", "crowd", "--rebuild", "--offline"], catch_exceptions=False).output
    assert "crowd: indexed as vector(24) in" in third
    assert len(found(resources, crowd)) == 1
