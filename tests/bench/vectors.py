"""The HNSW index: what it finds of what an exact search finds, with and without filters, and how long it takes.

`python -m tests.bench.vectors [--sizes 20000 100000 | --large]` fails where recall@10 is below 0.95, a search returns
fewer rows than there are, or ours takes over 1.1 times as long as the same SQL in psql.
"""

import argparse
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from app import services
from app.db import filters, spaces, vectors
from app.db.sql import statement
from app.db.vectors import EF_SEARCH_MAX, IndexScan
from app.ingest import index
from app.query import nearest
from app.records import Asked, Filters, Ints, Question, Ranking, Vector
from app.resources import Resources
from app.services import binaries
from tests.bench import points
from tests.bench.measured import Report, ratio, timed
from tests.bench.serving import service

LEAST_RECALL, MOST = 0.95, 1.1
K, CANDIDATES, QUESTIONS = 10, 100, 60
FEW = 10  # questions asked in a way that a search would not take, which may be slow
SHARES = {"no filter": None, "10 %": 10, "1 %": 100, "0.1 %": 1000}
ROUNDS = 9
VISITS = 50_000


class Bench:
    """One filled and indexed collection with the questions asked of it."""

    def __init__(self, resources: Resources, size: int, report: Report) -> None:
        self.resources, self.report = resources, report
        rng = np.random.default_rng(size)
        self.collection = points.collection(resources, f"points {size}")
        self.points = points.clustered(size, rng)
        self.ids = np.array(points.load(resources, self.collection, self.points), np.int64)
        self.questions = points.questions(self.points, QUESTIONS, rng)
        seconds, made = timed(lambda: index.build(self.collection.space, resources, lambda _: None, online=False))
        self.type = made.indexed_type
        report.line(f"index of {size:,} x {points.DIM} built in {seconds:.1f} s, {made.bytes / 1e6:,.0f} MB")

    def allowed(self, share: int | None) -> tuple[Filters, Ints]:
        """A filter that lets one document of so many pass, and the places of the chunks that it allows."""
        number = np.arange(len(self.points)) // points.CHUNKS_PER_DOCUMENT
        if share is None:
            return Filters(), np.arange(len(self.points))
        return Filters({f"of_{share}": {"eq": 1}}), np.flatnonzero(number % share == 1)

    def exact(self, vector: Vector, among: Ints) -> set[int]:
        """The k nearest, by numpy."""
        cosines = (self.points @ vector)[among]
        return {*self.ids[among[np.argsort(-cosines)[:K]]].tolist()}

    def search(self, vector: Vector, wanted: Filters) -> tuple[Ints, str]:
        """As a search does it: choose a scan, list what is allowed where it is little, rank."""
        question = Question("?", self.collection.name, Ranking(candidates=CANDIDATES), wanted)
        asked = Asked(question, self.collection, (), vector)
        settings = self.resources.settings.model_copy(update={"exact_scan_max": 0})
        with self.resources.database.read() as snapshot:
            plan = nearest.plan(asked, snapshot, len(self.points), settings)
            (ids, _), scan = nearest.chunks(asked, snapshot, plan, nearest.listed(asked, snapshot, plan))
        return ids, scan

    def by_index(self, vector: Vector, wanted: Filters) -> tuple[Ints, str]:
        """By the index whatever the filter."""
        with self.resources.database.read() as snapshot:
            found = vectors.nearest_indexed(snapshot, self.collection, vector, CANDIDATES, wanted, self.scan())
        return found[0], "hnsw"

    def by_scan(self, vector: Vector) -> tuple[Ints, str]:
        """By comparing all vectors."""
        with self.resources.database.read() as snapshot:
            return vectors.nearest(snapshot, self.collection, vector, CANDIDATES)[0], "exact"

    def scan(self) -> IndexScan:
        """The index, read until it has found enough or seen very much."""
        return IndexScan(self.type, EF_SEARCH_MAX, VISITS)


def main() -> int:
    """Fill, index, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--large", action="store_true", help="1,000,000 instead")
    options = parser.parse_args()
    failures = []
    for size in [1_000_000] if options.large else options.sizes:
        report = Report(f"vectors, {size:,} x {points.DIM}, clustered, questions near members")
        with service() as resources:
            bench = Bench(resources, size, report)
            compare_results(bench)
            compare_times(bench)
        failures += report.failures
    return 1 if failures else 0


def compare_results(bench: Bench) -> None:
    """What a search finds, and for comparison what the index alone does, also where a search would not take it."""
    everything = [bench.exact(vector, np.arange(len(bench.points))) for vector in bench.questions]
    _measured(bench, "no filter, by an exact scan", bench.by_scan, everything[:FEW])
    for name, share in SHARES.items():
        wanted, among = bench.allowed(share)
        best = [bench.exact(vector, among) for vector in bench.questions]
        recall, rows = _measured(bench, f"{name}, as chosen", partial(bench.search, wanted=wanted), best)
        bench.report.promise(f"{name}, recall@{K}", recall, at_least=LEAST_RECALL)
        bench.report.promise(f"{name}, rows", rows, at_least=min(CANDIDATES, len(among)))
        _measured(bench, f"{name}, by index alone", partial(bench.by_index, wanted=wanted), best[:FEW])


def _measured(
    bench: Bench, name: str, call: Callable[[Vector], tuple[Ints, str]], best: Sequence[set[int]]
) -> tuple[float, int]:
    """Recall, and the least count of rows, of as many questions as there are answers."""
    seconds, found = zip(*(timed(partial(call, vector)) for vector in bench.questions[: len(best)]), strict=True)
    recall = statistics.mean(len({*ids[:K].tolist()} & b) / len(b) for (ids, _), b in zip(found, best, strict=True))
    rows = min(len(ids) for ids, _ in found)
    p50 = statistics.median(seconds) * 1_000
    bench.report.line(f"{name}: {found[0][1]}, p50 {p50:.1f} ms, recall@{K} {recall:.3f}, {rows} rows or more")
    return recall, rows


def compare_times(bench: Bench) -> None:
    """Our function against its own SQL in psql, question by question and in turn; of each the best of all rounds."""
    with psycopg.connect(services.database_url(bench.resources.settings), cursor_factory=psycopg.ClientCursor) as raw:
        register_vector(raw)
        for name, wanted in (("index", Filters()), ("index with a filter of 10 %", bench.allowed(10)[0])):
            texts = [_literal(raw, bench, vector, wanted) for vector in bench.questions]
            rounds = [(_psql(bench, texts), _ours(bench, wanted)) for _ in range(ROUNDS)]
            theirs, ours = (list(map(min, zip(*side, strict=True))) for side in zip(*rounds, strict=True))
            shown = f"{statistics.median(ours):.2f} ms, psql {statistics.median(theirs):.2f} ms"
            bench.report.line(f"{name}, top {CANDIDATES}: {shown}")
            bench.report.promise(f"{name}, ours against psql", ratio(ours, theirs), at_most=MOST)


def _ours(bench: Bench, wanted: Filters) -> list[float]:
    """Milliseconds of each call."""
    with bench.resources.database.read() as snapshot:
        call = partial(vectors.nearest_indexed, snapshot, bench.collection)
        calls = [partial(call, vector, CANDIDATES, wanted, bench.scan()) for vector in bench.questions]
        return [1_000 * timed(each)[0] for each in calls]


def _literal(raw: psycopg.Connection[Any], bench: Bench, vector: Vector, wanted: Filters) -> str:
    """The statement with its values written into it, as a person would give it to psql."""
    values = {"space_id": bench.collection.space.id, "collection_id": bench.collection.id, "limit": CANDIDATES}
    values |= filters.values(wanted) | {"vector": vector, "filtered": bool(wanted.given())}
    text = statement("vectors", "nearest_indexed").replace("indexed_type", spaces.vector_type(bench.type))
    cursor = psycopg.ClientCursor(raw)
    return cursor.mogrify(text.replace(")b", ")s"), values)


def _psql(bench: Bench, texts: Sequence[str]) -> list[float]:
    """Milliseconds of each statement by psql's own clock; the first, which loads pgvector, is run before."""
    lines = [
        "SET hnsw.iterative_scan = strict_order; SET enable_sort = off; SET hnsw.scan_mem_multiplier = 8;",
        f"SET hnsw.ef_search = {bench.scan().ef_search}; SET hnsw.max_scan_tuples = {VISITS};",
        *("\\o /dev/null", f"{texts[0]};", "\\o", "\\timing on", "\\o /dev/null"),
        *(f"{text};" for text in texts),
    ]
    command = [
        str(binaries.psql()),
        "-X",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-d",
        services.database_url(bench.resources.settings),
    ]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)  # noqa: S603
    return [float(found) for found in re.findall(r"Time: ([\d.]+) ms", done.stdout)]


if __name__ == "__main__":
    sys.exit(main())
