"""Eight writers, eight readers and compaction at once, for some seconds; `make soak` gives them a minute."""

import contextlib
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from audited import broken

from app.clients.cache import Cache
from app.clients.embedder import Embedder
from app.db import collections
from app.db.pool import Database
from app.db.segment_cache import SegmentCache
from app.errors import Conflict, NotFound
from app.ingest import compact, pipeline, store
from app.query import pipeline as search
from app.query import recall
from app.query.understand import tokenized, understand
from app.records import Question, Source
from app.resources import Resources
from app.services import Endpoints
from app.settings import Settings

SECONDS = float(os.environ.get("SOAK_SECONDS", "8"))
SOURCES = [
    f"{name}.txt" for name in ("kettle", "grinder", "水壶", "磨豆机", "policy", "leave", "errors", "travel", "油", "雾")
]
WORDS = ("copper", "kettle", "E-204", "v2.3.1", "铜壶", "容量", "leave", "磨豆机", "error", "boils")
QUESTIONS = ("copper kettle E-204", "铜壶的容量", "error v2.3.1", "磨豆机 leave", "which kettle boils")
PARTS = 4
TAG = re.compile(r"version(\d+)x")


@pytest.fixture
def many(database_url: str, servers: Endpoints, settings: Settings, embedder: Embedder) -> Iterator[Resources]:
    """Connections for everybody, and a cache that is too small to hold what is decoded."""
    database = Database(database_url, max_connections=20, timeout_seconds=60)
    small = settings.model_copy(update={"chunk_chars": 120, "chunk_overlap_chars": 0})
    made = Resources(small, database, Cache(servers.redis_url, timeout_seconds=1), SegmentCache(200_000))
    made.__dict__["embedder"] = embedder
    yield made
    compact.finish()
    made.close()


def text(rng: random.Random, version: int) -> str:
    """A few chunks that all carry the version."""
    return "\n\n".join(f"version{version}x " + " ".join(rng.choices(WORDS, k=12)) + "." for _ in range(PARTS))


def write(rng: random.Random, done: Counter[str], resources: Resources) -> None:
    """One change of one document, which another writer may be changing too."""
    what = rng.choices(("put", "delete", "disable", "enable"), (6, 1, 1, 1))[0]
    source = rng.choice(SOURCES)
    try:
        if what == "put":
            content = text(rng, rng.randrange(10**9))
            pipeline.ingest(Source(source, source, "text/plain", content), "k", resources)
        else:
            with resources.database.read() as connection:
                row = connection.execute("SELECT id FROM document WHERE source = %s", (source,)).fetchone()
            if row and what == "delete":
                store.delete(row[0], resources)
            elif row:
                store.set_state(row[0], "disabled" if what == "disable" else "active", resources)
        done[what] += 1
    except (Conflict, NotFound) as e:
        done[type(e).__name__] += 1


def read(rng: random.Random, done: Counter[str], resources: Resources) -> None:
    """A search sees each document whole, in one version, and each chunk once."""
    ranking = resources.ranking_with(top_k=100, collapse_duplicates=False)
    result = search.search(Question(rng.choice(QUESTIONS), "k", ranking), resources)
    versions: dict[str, set[str]] = {}
    for hit in result.hits:
        versions.setdefault(hit.source, set()).update(TAG.findall(hit.text))
    assert all(len(seen) == 1 for seen in versions.values()), versions
    assert len({hit.chunk_id for hit in result.hits}) == len(result.hits)
    assert all(hit.cosine is not None for hit in result.hits)
    hold_against_tables(rng.choice(QUESTIONS), resources)
    done["search"] += 1


def hold_against_tables(question: str, resources: Resources) -> None:
    """What both recalls find in a snapshot is what the tables and the SQL functions say in the same one."""
    with resources.database.read() as snapshot:
        collection = collections.get(snapshot, "k")
    asked = understand(Question(question, "k", resources.ranking_with(candidates=1_000)), collection, resources)
    with resources.database.read() as snapshot:
        asked = tokenized(asked, snapshot)
        recalled = recall.both_paths(asked, snapshot, resources)
        sql = "SELECT k.id FROM chunk k JOIN document d ON d.id = k.document_id WHERE d.state = 'active' ORDER BY k.id"
        active = [row[0] for row in snapshot.execute(sql)]
        sql = "SELECT * FROM ragledger_audit.bm25(%s, %s)"
        bm25 = dict(snapshot.execute(sql, (collection.id, list(asked.tokens))).fetchall())
    assert recalled.chunk_ids.tolist() == active
    assert recalled.statistics.live_chunks == len(active)
    assert recalled.bm25.tolist() == pytest.approx([bm25.get(chunk_id, 0.0) for chunk_id in active], abs=1e-6)


def test_nothing_is_lost_and_nobody_sees_half_of_anything(many: Resources) -> None:
    collection = pipeline.open_collection("k", many)
    done: Counter[str] = Counter()
    stop = threading.Event()

    def merge(rng: random.Random, done: Counter[str], resources: Resources) -> None:
        with contextlib.suppress(Conflict):  # a writer's own compaction is at it
            done["merged"] += (compact.compact if rng.random() < 0.8 else compact.merge_all)(collection.id, resources)
        time.sleep(0.05)

    def go_on(seed: int, turn: Callable[[random.Random, Counter[str], Resources], None]) -> None:
        rng = random.Random(seed)  # noqa: S311 - the same changes at every run
        while not stop.is_set():
            turn(rng, done, many)

    with ThreadPoolExecutor(17) as pool:
        running = [pool.submit(go_on, n, turn) for n, turn in enumerate([write] * 8 + [read] * 8 + [merge])]
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and not any(each.done() for each in running):
            time.sleep(0.1)
        stop.set()
    for each in running:
        each.result()
    assert min(done[what] for what in ("put", "delete", "disable", "enable", "search", "merged")) > 0, done
    compact.finish()
    assert_whole(many)


def assert_whole(resources: Resources) -> None:
    """The audit finds nothing, and an index of the same documents made at one go scores the same."""
    assert broken(resources) == []
    with resources.database.read() as connection:
        sql = "SELECT source, content FROM document WHERE state = 'active' ORDER BY id"
        active = connection.execute(sql).fetchall()
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert connection.execute(deadlocks).fetchone() == (0,)
    for source, content in active:
        pipeline.ingest(Source(source, source, "text/plain", content), "fresh", resources)
    for question in QUESTIONS:
        now, fresh = (scores(question, name, resources) for name in ("k", "fresh"))
        assert now.keys() == fresh.keys()
        assert now == pytest.approx(fresh, abs=1e-6)


def scores(question: str, collection: str, resources: Resources) -> dict[tuple[str, int], float]:
    ranking = replace(resources.ranking_with(top_k=100, candidates=1_000), collapse_duplicates=False)
    hits = search.search(Question(question, collection, ranking), resources).hits
    return {(hit.source, hit.start_char): hit.bm25 for hit in hits}
