"""2,000 chunks get another model while people search and write, and the process that does it is killed on the way."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import IO, Any, LiteralString, cast

import numpy as np
import pytest
from audited import broken
from pydantic import SecretStr

from app.clients.cache import Cache
from app.db import collections
from app.db.pool import Database
from app.db.segment_cache import SegmentCache
from app.errors import Conflict, NotFound
from app.ingest import compact, pipeline, store
from app.query import pipeline as search
from app.records import Question, Source, Space, Splitting
from app.resources import Resources
from app.services import Endpoints
from app.settings import ROOT, Settings
from tests.hashed import NEW, OLD, Hashed, backends

CHUNKS = 2_000
DOCUMENTS = 100
WORDS = (
    "copper",
    "kettle",
    "E-204",
    "铜壶",
    "leave",
    "grinder",
    "boils",
    "valve",
    "steam",
    "filter",
    "travel",
    "litres",
)
QUESTIONS = ("copper kettle E-204", "铜壶 steam", "which valve boils", "grinder leave travel")
QUERIES_CHECKED = 150  # of each model

DRIVER = """
import sys
from app.clients.cache import Cache
from app.db.pool import Database
from app.db.segment_cache import SegmentCache
from app.ingest import reembed
from app.resources import Resources
from app.settings import Settings
from tests.hashed import NEW, OLD, Hashed, backends

def watch(progress):
    print(progress.phase, progress.done, progress.total, flush=True)

settings = Settings(_env_file=None, database_url=sys.argv[1])
database = Database(sys.argv[1], max_connections=3, timeout_seconds=60)
resources = Resources(settings, database, Cache(None, timeout_seconds=1), SegmentCache(0))
new = Hashed(NEW, seconds=0.1)
resources.__dict__["backends"] = backends(settings, Hashed(OLD), new)
print("changed", reembed.reembed("k", NEW, resources, watch), max(new.passages.values()), flush=True)
resources.close()
"""


NEW_VECTORS = "SELECT count(*) FROM embedding WHERE space_id <> (SELECT space_id FROM collection)"


@pytest.fixture
def models() -> tuple[Hashed, Hashed]:
    return Hashed(OLD), Hashed(NEW)


@pytest.fixture
def crowded(
    database_url: str, servers: Endpoints, settings: Settings, models: tuple[Hashed, Hashed]
) -> Iterator[Resources]:
    """Connections for everybody, and a collection of 2,000 chunks of the old model."""
    own = settings.model_copy(
        update={"database_url": SecretStr(database_url), "splitter": "sentence", "chunk_chars": 120}
    )
    database = Database(database_url, max_connections=12, timeout_seconds=60)
    made = Resources(own, database, Cache(servers.redis_url, timeout_seconds=1), SegmentCache(64_000_000))
    made.__dict__["backends"] = backends(own, *models)
    with database.write() as connection:
        collections.ensure(connection, "k", Space(0, OLD), Splitting("sentence", 120, 0))
    yield made
    compact.finish()
    made.close()


def text(rng: random.Random) -> str:
    """Some twenty chunks of a sentence each."""
    return " ".join(" ".join([f"n{rng.randrange(10**6)}", *rng.choices(WORDS, k=14)]) + "." for _ in range(20))


class Load:
    """Searches and changes until it is stopped. `done` counts what was done."""

    def __init__(self, resources: Resources) -> None:
        self.done: Counter[str] = Counter()
        self._resources = resources
        self._stop = threading.Event()

    def run(self, pool: ThreadPoolExecutor) -> Callable[[], None]:
        """Begin. The returned function ends it, and raises what failed."""
        running = [pool.submit(self._again, n, turn) for n, turn in enumerate([self._search] * 3 + [self._write] * 2)]

        def ended() -> None:
            self._stop.set()
            for each in running:
                each.result()

        return ended

    def _again(self, seed: int, turn: Callable[[random.Random], None]) -> None:
        rng = random.Random(seed)  # noqa: S311 - the same changes at every run
        while not self._stop.is_set():
            turn(rng)

    def _search(self, rng: random.Random) -> None:
        result = search.search(Question(rng.choice(QUESTIONS), "k"), self._resources)
        assert result.degraded == ()
        assert result.hits
        assert all(hit.cosine is not None for hit in result.hits)
        self.done["search"] += 1

    def _write(self, rng: random.Random) -> None:
        source = f"{rng.randrange(DOCUMENTS)}.txt"
        what = rng.choices(("put", "delete", "disable", "enable"), (5, 1, 1, 2))[0]
        try:
            if what == "put":
                pipeline.ingest(Source(source, source, "text/plain", text(rng)), "k", self._resources)
            else:
                with self._resources.database.read() as connection:
                    row = connection.execute("SELECT id FROM document WHERE source = %s", (source,)).fetchone()
                if row and what == "delete":
                    store.delete(row[0], self._resources)
                elif row:
                    store.set_state(row[0], "disabled" if what == "disable" else "active", self._resources)
            self.done[what] += 1
        except (Conflict, NotFound) as e:
            self.done[type(e).__name__] += 1
        self._stop.wait(0.1)  # at the test's pace, two cores embed faster than this is written


def lines(output: IO[str] | None) -> Iterator[list[str]]:
    assert output
    return (line.split() for line in output)


def test_after_a_kill_nothing_is_missing_and_every_answer_came_from_one_space(
    crowded: Resources, models: tuple[Hashed, Hashed], database_url: str
) -> None:
    rng = random.Random(7)  # noqa: S311
    for n in range(DOCUMENTS):
        pipeline.ingest(Source(f"{n}.txt", f"{n}", "text/plain", text(rng)), "k", crowded)
    assert counted(crowded, "SELECT count(*) FROM chunk") >= CHUNKS
    load = Load(crowded)
    command = [sys.executable, "-c", DRIVER, database_url]
    with ThreadPoolExecutor(6) as pool:
        end = load.run(pool)
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT) as first:  # noqa: S603
                for phase, done, _known in lines(first.stdout):
                    if phase == "embedding" and int(done) > CHUNKS // 2:
                        break
                first.send_signal(signal.SIGKILL)
            assert 0 < counted(crowded, NEW_VECTORS) < CHUNKS
            again = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=ROOT, timeout=300)  # noqa: S603
            searched = load.done["search"]
            while load.done["search"] < searched + 50:
                time.sleep(0.05)
        finally:
            end()
    assert again.returncode == 0, again.stderr
    output = [line.split() for line in again.stdout.splitlines()]
    assert int(output[0][1]) > 0  # it went on
    assert output[-1] == ["changed", "True", "1"]  # and embedded no text twice
    assert min(load.done[what] for what in ("put", "delete", "disable", "enable", "search")) > 0, load.done
    assert_whole(crowded)
    assert_every_answer_came_from_one_space(crowded, models)


def assert_whole(resources: Resources) -> None:
    compact.finish()
    assert broken(resources) == []
    assert counted(resources, "SELECT count(*) FROM reembedding") == 0
    assert counted(resources, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'embedding'::regclass") == 1
    assert counted(resources, "SELECT count(*) FROM chunk") == counted(resources, "SELECT count(*) FROM embedding")
    assert counted(resources, "SELECT count(*) FROM span") == counted(resources, "SELECT count(*) FROM span_embedding")
    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    assert counted(resources, deadlocks) == 0


def assert_every_answer_came_from_one_space(resources: Resources, models: tuple[Hashed, Hashed]) -> None:
    """The question's vector and every cosine of the ledger are those of the one model that the entry names."""
    text_of = {sha256(text.encode()).hexdigest(): text for model in models for text in list(model.passages)}
    for model in models:
        name = model.identity.model
        checked = 0
        for query_id, question, vector in entries(resources, name):
            asked = model.embed_questions([question])[0]
            assert np.abs(vector.to_numpy() - asked).max() < 1e-6
            hits = hits_of(resources, query_id)
            assert hits
            assert all(cosine is not None for _, cosine in hits)
            own = model.embed_questions([text_of[digest] for digest, _ in hits]) @ asked
            assert [cosine for _, cosine in hits] == pytest.approx(own.tolist(), abs=1e-5)
            checked += 1
        assert checked >= 20, name


def entries(resources: Resources, model: str) -> list[Any]:
    sql = """SELECT q.id, q.question, q.embedding FROM query_log q JOIN embedding_space s ON s.id = q.space_id
             WHERE s.model = %s AND q.vector_scan <> 'none' ORDER BY md5(q.id::text) LIMIT %s"""
    with resources.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM query_log WHERE space_id IS NULL").fetchone() == (0,)
        return connection.execute(sql, (model, QUERIES_CHECKED)).fetchall()


def hits_of(resources: Resources, query_id: Any) -> list[Any]:
    with resources.database.read() as connection:
        sql = "SELECT text_sha256, cosine FROM query_hit WHERE query_id = %s"
        return connection.execute(sql, (query_id,)).fetchall()


def counted(resources: Resources, sql: LiteralString) -> int:
    with resources.database.read() as connection:
        return int(cast(tuple[int], connection.execute(sql).fetchone())[0])
