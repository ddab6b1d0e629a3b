"""Reads from a streaming standby: fresh enough, never waited for, and the primary wherever it cannot serve."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from services_home import Home, kill, open_home, open_standby, paused, public_folder, query
from werkzeug.test import TestResponse

from app.api import create_app
from app.clients.cache import Cache
from app.clients.embedder import Embedder
from app.db import migrate, positions, queries, replicas, server
from app.db.pool import Database, Db
from app.db.segment_cache import SegmentCache
from app.errors import DatabaseUnavailable, NotFound, UnsupportedServer
from app.ingest import pipeline as ingest
from app.ingest import store
from app.query import pipeline
from app.records import Question, Source
from app.resources import Resources
from app.services import processes

NO_REDIS = "redis://127.0.0.1:1/0"
SOON = 5.0  # longer than every pause and every wait for a server that is away
SLOW = 60.0


@dataclass(frozen=True)
class Pair:
    """A primary and its standby."""

    primary: Home
    standby: Home

    @property
    def url(self) -> str:
        return self.primary.ensure().database_url

    @property
    def read_url(self) -> str:
        return self.standby.ensure().database_url

    def caught_up(self) -> None:
        """Wait until the standby shows all that the primary has."""
        query(self.url, "SELECT pg_logical_emit_message(true, 'test', '')")  # a commit flushes to the end of a record
        ((position,),) = query(self.url, "SELECT pg_current_wal_flush_lsn()::text")
        shown = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        assert processes.wait_until(lambda: query(self.read_url, shown) == [(True,)], SLOW)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Replay stands still: the standby receives, and shows what it showed."""
        query(self.read_url, "SELECT pg_wal_replay_pause()")
        state = "SELECT pg_get_wal_replay_pause_state()"
        assert processes.wait_until(lambda: query(self.read_url, state) == [("paused",)], SLOW)
        try:
            yield
        finally:
            query(self.read_url, "SELECT pg_wal_replay_resume()")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with public_folder() as folder, open_home(folder / "primary", redis_url=NO_REDIS) as primary:
        migrate.upgrade(primary.ensure().database_url)
        with open_standby(primary, folder / "standby") as standby:
            yield Pair(primary, standby)


@pytest.fixture
def opened(pair: Pair, embedder: Embedder) -> Iterator[Callable[..., Resources]]:
    """Resources as of a process of its own: it knows nothing of what others wrote."""
    made: list[Resources] = []

    def new(*, timeout_seconds: float = 20, read_url: str = "") -> Resources:
        limits: Any = {"max_connections": 4, "timeout_seconds": timeout_seconds}
        standbys = replicas.opened(read_url or pair.read_url, server.cluster(pair.url), **limits)
        database = Database(pair.url, **limits, replicas=standbys)
        cache = Cache(None, timeout_seconds=1)
        made.append(Resources(pair.primary.settings, database, cache, SegmentCache(1_000_000)))
        made[-1].__dict__["embedder"] = embedder
        return made[-1]

    yield new
    for resources in made:
        resources.close()


@pytest.fixture
def writer(opened: Callable[..., Resources]) -> Resources:
    return opened()


@pytest.fixture
def reader(opened: Callable[..., Resources]) -> Resources:
    return opened()


@pytest.fixture
def name() -> str:
    return f"collection {uuid4()}"


def on_standby(resources: Resources) -> bool:
    """Whether a read goes to the standby."""

    def ask(connection: Db) -> bool:
        ((answer,),) = connection.execute("SELECT pg_is_in_recovery()").fetchall()
        return bool(answer)

    return resources.database.read_anywhere(ask)


def add(resources: Resources, name: str, source: str, text: str) -> int:
    outcome = ingest.ingest(Source(source, source, "text/plain", text), name, resources)
    assert outcome.document_id is not None
    return outcome.document_id


def sources(resources: Resources, name: str, question: str = "copper kettle") -> set[str]:
    return {hit.source for hit in pipeline.search(Question(question, name), resources).hits}


def body(response: TestResponse) -> dict[str, Any]:
    assert response.json is not None, response.data
    content: dict[str, Any] = response.json
    return content


def quickly(call: Callable[[], Any]) -> Any:
    started = time.monotonic()
    result = call()
    assert time.monotonic() - started < SOON
    return result


def test_reads_arrive_on_the_standby_and_writes_on_the_primary(pair: Pair, writer: Resources, name: str) -> None:
    add(writer, name, "kettle.md", "The copper kettle holds 12 litres.")
    pair.caught_up()
    assert on_standby(writer)
    assert sources(writer, name) == {"kettle.md"}
    sessions = "SELECT DISTINCT application_name FROM pg_stat_activity WHERE application_name = 'ragledger'"
    assert query(pair.read_url, sessions) == [("ragledger",)]
    with writer.database.read() as connection:
        assert connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)


def test_a_process_reads_its_own_writes_while_another_still_reads_the_standby(
    pair: Pair, writer: Resources, reader: Resources, name: str
) -> None:
    first = add(writer, name, "kettle.md", "The copper kettle holds 12 litres.")
    pair.caught_up()
    with pair.held_back():
        add(writer, name, "pot.md", "The copper pot is no kettle.")
        assert not on_standby(writer)
        assert sources(writer, name) == {"kettle.md", "pot.md"}
        store.delete(first, writer)
        assert sources(writer, name) == {"pot.md"}
        assert on_standby(reader)
        assert sources(reader, name) == {"kettle.md"}
        assert writer.database.replica_states() == {"replica_1": "behind"}
        assert reader.database.replica_states() == {"replica_1": "ok"}
    pair.caught_up()
    assert on_standby(writer)
    assert sources(writer, name) == sources(reader, name) == {"pot.md"}


def test_the_ledger_is_read_at_once_and_sends_no_other_read_to_the_primary(
    pair: Pair, writer: Resources, name: str
) -> None:
    add(writer, name, "kettle.md", "The copper kettle holds 12 litres.")
    pair.caught_up()
    with pair.held_back():
        result = pipeline.search(Question("copper kettle", name), writer)
        assert on_standby(writer)
        with writer.database.read() as connection:
            assert queries.get(connection, result.query_id).question == "copper kettle"
        with pytest.raises(NotFound):
            read_query(pair.read_url, result.query_id)


def read_query(url: str, query_id: UUID) -> None:
    with psycopg.connect(url) as connection:
        queries.get(connection, query_id)


def test_what_a_standby_has_never_heard_of_is_asked_of_the_primary(
    pair: Pair, writer: Resources, reader: Resources, name: str
) -> None:
    pair.caught_up()
    with pair.held_back():
        add(writer, name, "kettle.md", "The copper kettle holds 12 litres.")
        assert on_standby(reader)
        assert sources(reader, name) == {"kettle.md"}


def test_a_client_carries_the_position_of_its_write_to_another_server(
    pair: Pair, writer: Resources, reader: Resources, name: str
) -> None:
    add(writer, name, "kettle.md", "The copper kettle holds 12 litres.")
    pair.caught_up()
    here, there = create_app(writer).test_client(), create_app(reader).test_client()
    document = {"collection": name, "source": "pot.md", "text": "The copper pot is no kettle."}
    question = {"collection": name, "question": "copper kettle"}
    with pair.held_back():
        position = here.post("/documents", json=document).headers["Ragledger-Position"]
        again = here.post("/documents", json=document)
        assert body(again)["outcome"] == "unchanged"
        assert "Ragledger-Position" in again.headers
        found = there.post("/search", json=question)
        assert [hit["source"] for hit in body(found)["hits"]] == ["kettle.md"]
        assert "Ragledger-Position" not in found.headers
        found = there.post("/search", json=question, headers={"Ragledger-Position": position})
        assert {hit["source"] for hit in body(found)["hits"]} == {"kettle.md", "pot.md"}
        found = there.post("/search", json=question)  # the next request of the same thread asks for nothing
        assert [hit["source"] for hit in body(found)["hits"]] == ["kettle.md"]
        assert body(there.get("/health/ready"))["parts"]["replica_1"] == "ok"
        assert body(here.get("/health/ready"))["parts"]["replica_1"] == "behind"
    pair.caught_up()
    positions.asked.set(positions.parse(position))
    assert on_standby(reader)
    positions.asked.set(0)


@pytest.mark.parametrize("synchronous_commit", ["on", "off", "local"])
def test_the_position_of_a_write_lies_behind_its_commit(
    pair: Pair, writer: Resources, reader: Resources, synchronous_commit: str
) -> None:
    """Whatever the commit waits for, a reader with its position sees it."""
    query(pair.url, f"ALTER ROLE ragledger SET synchronous_commit = {synchronous_commit}")
    try:
        for _ in range(200):
            collection = ingest.open_collection(f"collection {uuid4()}", writer).name
            positions.asked.set(positions.written.get())
            reader.database.read_anywhere(partial(must_see, name=collection))
    finally:
        positions.asked.set(0)
        query(pair.url, "ALTER ROLE ragledger RESET synchronous_commit")


def must_see(connection: Db, name: str) -> None:
    """Fails by another error than NotFound, which would send the read to the primary."""
    assert connection.execute("SELECT 1 FROM collection WHERE name = %s", (name,)).fetchone()


def test_a_dead_standby_is_passed_over_and_used_again_when_it_is_back(pair: Pair, writer: Resources, name: str) -> None:
    add(writer, name, "kettle.md", "The copper kettle holds 12 litres.")
    pair.caught_up()
    assert on_standby(writer)
    kill(pair.standby.status().postgres.pid)
    # a connection's own process answers until it notices that its parent is gone
    assert processes.wait_until(lambda: not quickly(lambda: on_standby(writer)), SLOW)
    assert quickly(lambda: sources(writer, name)) == {"kettle.md"}
    assert writer.database.replica_states() == {"replica_1": "unavailable"}
    pair.standby.ensure()
    assert processes.wait_until(lambda: on_standby(writer), SLOW)
    assert writer.database.replica_states() == {"replica_1": "ok"}


def test_a_standby_that_hangs_is_passed_over_and_used_again_when_it_goes_on(
    pair: Pair, writer: Resources, name: str
) -> None:
    add(writer, name, "kettle.md", "The copper kettle holds 12 litres.")
    pair.caught_up()
    assert on_standby(writer)
    with paused(pair.standby.status().postgres.pid):
        assert not quickly(lambda: on_standby(writer))
        started = time.monotonic()
        assert sources(writer, name) == {"kettle.md"}
        assert time.monotonic() - started < 1.5  # while it is known to hang nobody waits for it
    assert processes.wait_until(lambda: on_standby(writer), SLOW)


def test_a_standby_that_hangs_in_the_middle_of_a_read_is_left_for_the_primary(
    pair: Pair, opened: Callable[..., Resources]
) -> None:
    resources = opened(timeout_seconds=0.5)
    asked = []

    def work(connection: Db) -> bool:
        ((standby,),) = connection.execute("SELECT pg_is_in_recovery()").fetchall()
        asked.append(standby)
        if standby:
            with paused(pair.standby.status().postgres.pid):
                connection.execute("SELECT 1")
        return True

    pair.caught_up()
    assert on_standby(resources)
    assert quickly(lambda: resources.database.read_anywhere(work))
    assert asked == [True, False]


def test_a_conflict_with_recovery_is_read_again_on_the_primary(pair: Pair, writer: Resources) -> None:
    """A table that is dropped on the primary cannot wait for long for a reader of the standby."""
    query(pair.read_url, "ALTER SYSTEM SET max_standby_streaming_delay = 0")
    query(pair.read_url, "SELECT pg_reload_conf()")
    query(pair.url, "CREATE TABLE conflict AS SELECT 42 AS answer")
    pair.caught_up()
    asked = []

    def work(connection: Db) -> str:
        ((standby,),) = connection.execute("SELECT pg_is_in_recovery()").fetchall()
        asked.append(standby)
        if standby:
            assert connection.execute("SELECT answer FROM conflict").fetchone() == (42,)
            query(pair.url, "DROP TABLE conflict")
            connection.execute("SELECT pg_sleep(5)")
        return "done"

    assert on_standby(writer)
    try:
        assert quickly(lambda: writer.database.read_anywhere(work)) == "done"
        assert asked == [True, False]
        assert writer.database.replica_states() == {"replica_1": "ok"}
    finally:
        query(pair.read_url, "ALTER SYSTEM RESET max_standby_streaming_delay")
        query(pair.read_url, "SELECT pg_reload_conf()")


def test_without_the_primary_searches_go_on_and_say_that_the_ledger_is_away(
    pair: Pair, writer: Resources, name: str
) -> None:
    add(writer, name, "kettle.md", "The copper kettle holds 12 litres.")
    pair.caught_up()
    app = create_app(writer).test_client()
    assert body(app.get("/health/ready"))["status"] == "degraded"  # there is no Redis here
    pid = pair.primary.status().postgres.pid
    kill(pid)
    try:
        result = quickly(lambda: pipeline.search(Question("copper kettle", name), writer))
        assert ({hit.source for hit in result.hits}, result.degraded) == ({"kettle.md"}, ("ledger",))
        answer = quickly(lambda: pipeline.answer(Question("How much does the copper kettle hold?", name), writer))
        assert (answer.source, answer.degraded) == ("corpus", ("cache", "ledger"))
        document = {"collection": name, "source": "pot.md", "text": "A pot."}
        assert quickly(lambda: app.post("/documents", json=document)).status_code == 503
        assert body(app.get(f"/documents?collection={name}"))["documents"][0]["source"] == "kettle.md"
        ready = app.get("/health/ready")
        assert (ready.status_code, body(ready)["parts"]["database"], body(ready)["parts"]["replica_1"]) == (
            503,
            "unavailable",
            "ok",
        )
    finally:
        pair.primary.ensure()
    assert processes.wait_until(lambda: not pipeline.search(Question("kettle", name), writer).degraded, SLOW)


def test_a_primary_that_hangs_is_told_within_a_bound(pair: Pair, opened: Callable[..., Resources], name: str) -> None:
    resources = opened(timeout_seconds=1)
    add(resources, name, "kettle.md", "The copper kettle holds 12 litres.")

    def begin_and_hang() -> None:
        with resources.database.write() as connection:
            connection.execute("SELECT 1")
            with paused(pair.primary.status().postgres.pid):
                assert not quickly(lambda: succeeds(lambda: add(resources, name, "pot.md", "A pot.")))
                started = time.monotonic()
                with pytest.raises(DatabaseUnavailable, match="a moment ago"):
                    add(resources, name, "pot.md", "A pot.")
                assert time.monotonic() - started < 0.5
                connection.execute("SELECT 1")

    started = time.monotonic()
    with pytest.raises(DatabaseUnavailable, match="wait timeout"):
        begin_and_hang()
    assert time.monotonic() - started < 2 * SOON
    assert processes.wait_until(lambda: succeeds(lambda: add(resources, name, "pot.md", "A pot.")), SLOW)


def succeeds(call: Callable[[], object]) -> bool:
    try:
        call()
    except DatabaseUnavailable:
        return False
    return True


def test_a_server_of_another_cluster_is_refused(pair: Pair, servers: Any) -> None:
    with pytest.raises(UnsupportedServer, match="names a server of cluster") as refused:
        replicas.opened(servers.database_url, server.cluster(pair.url), max_connections=1, timeout_seconds=5)
    assert str(conninfo_to_dict(servers.database_url)["password"]) not in str(refused.value)


def test_a_standby_that_was_promoted_is_not_read(
    pair: Pair, opened: Callable[..., Resources], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_standby(pair.primary, pair.primary.path.parent / "promoted") as promoted:
        url = promoted.ensure().database_url
        resources = opened(read_url=url)
        assert processes.wait_until(lambda: on_standby(resources), SLOW)
        query(url, "SELECT pg_promote()")
        add(resources, name, "kettle.md", "The copper kettle holds 12 litres.")
        assert sources(resources, name) == {"kettle.md"}
        assert resources.database.replica_states() == {"replica_1": "unavailable"}
        assert "was it promoted?" in caplog.text


def test_of_two_hosts_the_one_that_is_away_costs_nothing(pair: Pair, opened: Callable[..., Resources]) -> None:
    parts = conninfo_to_dict(pair.read_url)
    two = "postgresql://{user}:{password}@127.0.0.1:1,127.0.0.1:{port}/{dbname}".format(**parts)
    pair.caught_up()
    resources = opened(read_url=two)
    on_standby(resources)
    # on a busy machine a standby may take too long to begin a read, which then is the primary's
    assert sum(quickly(lambda: on_standby(resources)) for _ in range(20)) >= 15
    assert processes.wait_until(
        lambda: resources.database.replica_states() == {"replica_1": "unavailable", "replica_2": "ok"}, SLOW
    )
