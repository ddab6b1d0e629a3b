"""BM25 beside bm25s (its numba backend) and rank_bm25 on the same tokens: building, asking warm and cold, memory.

    pip install -e '.[bench]'
    python -m tests.bench.bm25 [--sizes 200000] [--large] [--data DIR]

DIR holds data sets in the BEIR layout; 2,000 of their paragraphs are measured too. The other chunks are synthetic
(`tests.bench.zipf`). Before anything is timed, all questions must give the same scores on both sides.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import bm25s
import numpy as np
from rank_bm25 import BM25Okapi

from app import services
from app.db import collections, lexical, postings
from app.db.segment_cache import SegmentCache
from app.lexical import segments
from app.lexical.index import Index, Part, Scored, Term
from app.lexical.segments import NOTHING, Segment
from app.lexical.tokens import tokens
from app.records import Collection, Floats, Ints, ModelIdentity, Space, Splitting
from app.resources import Resources
from tests.bench import zipf
from tests.bench.measured import Report, in_turn, ratio, timed
from tests.bench.serving import service

K1, B, TOP = 1.5, 0.75, 100
QUESTIONS = 40
ROUNDS = 5
PARAGRAPHS = 2_000
RANK_BM25_MAX = 200_000  # a dictionary for each chunk: at a million it needs more memory than it can be worth
CACHE_BYTES = 2_000_000_000
_FRESH = """
import time
started = time.perf_counter()
import sys
from app.db import lexical
from app.db.pool import Database
from app.db.segment_cache import SegmentCache
imported = time.perf_counter()
database = Database(sys.argv[1], max_connections=2, timeout_seconds=60)
with database.read() as connection:
    connection.execute("SELECT 1")
    connected = time.perf_counter()
    cache = SegmentCache(1_000_000_000)
    lexical.score(connection, int(sys.argv[2]), sys.argv[3:], cache, k1=1.5, b=0.75).top(100)
print(imported - started, connected - imported, time.perf_counter() - connected)
"""
Tokens = Sequence[Sequence[str]]


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--sizes", default="200000", help="numbers of synthetic chunks")
    arguments.add_argument("--large", action="store_true", help="1,000,000 chunks")
    arguments.add_argument("--data", type=Path, help="a folder of BEIR folders")
    options = arguments.parse_args()
    sizes = [1_000_000] if options.large else [int(size) for size in options.sizes.split(",")]
    failures = []
    if options.data:
        failures += measure("real paragraphs", *paragraphs(options.data))
    for size in sizes:
        failures += measure("synthetic chunks", synthetic(size), zipf.questions(QUESTIONS))
    print("\n".join(failures))  # noqa: T201 - a benchmark prints
    return 1 if failures else 0


def paragraphs(folder: Path) -> tuple[Tokens, Tokens]:
    """Tokens of paragraphs, and of questions about them."""
    texts: dict[str, list[list[str]]] = {"corpus": [], "queries": []}
    for name, found in texts.items():
        for file in sorted(folder.glob(f"*/{name}.jsonl")):
            lines = file.read_text(encoding="utf-8").splitlines()
            found += [
                tokens(json.loads(line)["text"]) for line in lines[: PARAGRAPHS if name == "corpus" else QUESTIONS]
            ]
    step = max(1, len(texts["queries"]) // QUESTIONS)
    return texts["corpus"][:PARAGRAPHS], texts["queries"][::step][:QUESTIONS]


def synthetic(size: int) -> Tokens:
    """Tokens of `size` chunks."""
    words = np.array(zipf.words(), object)
    numbers, lengths = zipf.chunks(size)
    return [part.tolist() for part in np.split(words[numbers], np.cumsum(lengths)[:-1])]


def measure(kind: str, chunks: Tokens, questions: Tokens) -> list[str]:
    """All figures of one size."""
    report = Report(f"BM25, {len(chunks):,} {kind}, {sum(map(len, chunks)):,} tokens, top {TOP}")
    ours_seconds, segment = timed(lambda: segments.build(dict(enumerate(chunks, 1))))
    theirs = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numba")
    theirs_seconds, _ = timed(lambda: theirs.index(chunks, show_progress=False))
    report.line(f"build: {ours_seconds:.1f} s, bm25s {theirs_seconds:.1f} s, ratio {ours_seconds / theirs_seconds:.2f}")
    warm(report, segment, theirs, questions)
    if len(chunks) <= RANK_BM25_MAX:
        against_rank_bm25(report, segment, chunks, questions[:5])
    with service(database_timeout_seconds=600) as resources, TemporaryDirectory() as folder:
        theirs.save(folder, show_progress=False)
        cold(report, stored(segment, resources), Path(folder), questions, resources)
    return report.failures


def warm(report: Report, segment: Segment, theirs: bm25s.BM25, questions: Tokens) -> None:
    """Questions whose postings are decoded already, one at a time."""
    index, prepared = decoded(segment, questions)
    for question in questions:
        scored = Scored(index, question, prepared, K1)
        ours = scored.of(scored.top(TOP))
        expected = found(theirs, question) * (K1 + 1)  # bm25s leaves the constant factor out
        if len(ours) != len(expected) or not np.allclose(ours, expected, rtol=1e-4):
            raise SystemExit(f"the scores of {question} differ")
    medians = []
    for question in questions:
        ours_top = partial(_top, index, question, prepared)
        taken = in_turn({"ours": ours_top, "bm25s": partial(found, theirs, question)}, ROUNDS)
        medians.append((statistics.median(taken["ours"]), statistics.median(taken["bm25s"])))
    ours_ms, theirs_ms = (statistics.median(side) * 1_000 for side in zip(*medians, strict=True))
    report.line(f"a question, warm: {ours_ms:.3f} ms, bm25s {theirs_ms:.3f} ms (medians of {len(questions)})")
    report.promise("bm25s's time over ours", statistics.median(b / a for a, b in medians), at_least=1.0)
    kept = index.nbytes + sum(term.nbytes for term in prepared.values())
    matrix = sum(theirs.scores[name].nbytes for name in ("data", "indices", "indptr"))
    everything = index.nbytes + segment.postings.nbytes
    megabytes = (round(size / 1e6) for size in (kept, everything, matrix))
    report.line(
        "memory of arrays: {} MB for these questions' terms, {} MB for every posting; bm25s {} MB".format(*megabytes)
    )


def _top(index: Index, question: Sequence[str], prepared: Mapping[str, Term]) -> Ints:
    return Scored(index, question, prepared, K1).top(TOP)


def decoded(segment: Segment, questions: Tokens) -> tuple[Index, Mapping[str, Term]]:
    """The index, and the terms of all questions as its cache keeps them."""
    wanted = {term for question in questions for term in question}
    of_term = {term: posting for term, posting in segment.postings if term in wanted}
    index = Index([Part(segment.chunks)])
    return index, {term: index.term(term, [of_term.get(term, NOTHING)], k1=K1, b=B) for term in wanted}


def found(theirs: bm25s.BM25, question: Sequence[str]) -> Floats:
    """bm25s's best scores > 0."""
    count = min(TOP, theirs.scores["num_docs"])
    scores: Floats = theirs.retrieve([list(question)], k=count, show_progress=False).scores[0]
    return scores[scores > 0]


def against_rank_bm25(report: Report, segment: Segment, chunks: Tokens, questions: Tokens) -> None:
    """rank_bm25 scores every chunk in Python; its idf differs, so that scores are not compared."""
    seconds, okapi = timed(lambda: BM25Okapi(chunks, k1=K1, b=B))
    index, prepared = decoded(segment, questions)
    taken = in_turn(
        {
            "ours": lambda: [_top(index, question, prepared) for question in questions],
            "rank_bm25": lambda: [np.argsort(-okapi.get_scores(question))[:TOP] for question in questions],
        },
        2,
    )
    report.line(
        f"rank_bm25: build {seconds:.1f} s, questions {ratio(taken['rank_bm25'], taken['ours']):.0f} times our time"
    )


def stored(segment: Segment, resources: Resources) -> Collection:
    """A collection with this one segment in PostgreSQL."""
    with resources.database.write() as connection:
        collection = collections.ensure(
            connection, "bench", Space(0, ModelIdentity("none", "none", 1, "", "")), Splitting()
        )
        seconds, _ = timed(lambda: postings.add(connection, collection.id, segment, "bench"))
    print(f"  written to PostgreSQL in {seconds:.1f} s")  # noqa: T201 - a benchmark prints
    return collection


def cold(report: Report, collection: Collection, saved: Path, questions: Tokens, resources: Resources) -> None:
    """The first question of a process: nothing is decoded, PostgreSQL is warm, as the files are for bm25s."""

    def ours(question: Sequence[str]) -> None:
        with resources.database.read() as connection:
            cache = SegmentCache(CACHE_BYTES)
            lexical.score(connection, collection.id, question, cache, k1=K1, b=B).top(TOP)

    def theirs(question: Sequence[str]) -> None:
        found(bm25s.BM25.load(saved, load_vocab=True, mmap=True), question)

    ratios, ours_ms = [], []
    for question in questions[:8]:
        taken = in_turn({"ours": partial(ours, question), "bm25s": partial(theirs, question)}, 3)
        ratios.append(ratio(taken["ours"], taken["bm25s"]))
        ours_ms.append(statistics.median(taken["ours"]) * 1_000)
    report.line(f"a question, cold: {statistics.median(ours_ms):.1f} ms")
    report.promise("our time over bm25s's, which loads its index", statistics.median(ratios), at_most=3.0)
    url = services.database_url(resources.settings)
    command = [sys.executable, "-c", _FRESH, url, str(collection.id), *questions[0]]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    imports, connect, first = map(float, printed.split())
    report.line(f"a fresh process: imports {imports:.2f} s, connection {connect:.2f} s")
    report.promise("its first question, seconds", first, at_most=1.0)


if __name__ == "__main__":
    sys.exit(main())
