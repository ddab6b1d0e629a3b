"""The whole `/search` over HTTP beside the sum of its parts, and under several clients at once.

`python -m tests.bench.search [--chunks 10000]` prints both and fails where the whole takes more than 1.25 times its
parts: embedding the question, the bare SQL statements it runs, and scoring. Every question is new to both sides.
"""

import argparse
import http.client
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from app import services
from app.db import lexical
from app.lexical.index import Index
from app.lexical.tokens import tokens
from app.query import pipeline
from app.records import Collection, Question
from app.resources import Resources
from tests.bench.filled import Prose, fill
from tests.bench.measured import Report, in_turn, ratio, timed
from tests.bench.serving import service

MOST = 1.25
NAME = "bench"
CLIENTS = (1, 4, 16)
RERANKERS = ("none", "spans", "overlap")
ROUNDS_BEFORE = 20


@dataclass
class Statement:
    """What one cursor executed."""

    query: Any
    params: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, raw: psycopg.Connection[Any]) -> None:
        """Execute it again and fetch all."""
        cursor = raw.execute(self.query, self.params, **self.options)
        if cursor.description:
            cursor.fetchall()


@dataclass
class Copied:
    """What one COPY wrote."""

    query: Any
    blocks: list[bytes] = field(default_factory=list)

    def run(self, raw: psycopg.Connection[Any]) -> None:
        """Copy it again."""
        with raw.cursor() as cursor, cursor.copy(self.query) as copying:
            for block in self.blocks:
                copying.write(block)


@dataclass
class Recorded:
    """What one search executed and copied, in order, and the terms that it scored anew."""

    statements: list[Statement | Copied] = field(default_factory=list)
    terms: list[Callable[[], object]] = field(default_factory=list)


def main() -> int:
    """Fill, measure, print."""
    options = _options()
    report = Report(f"search over HTTP, {options.chunks:,} chunks {'with' if options.spans else 'without'} spans")
    with service() as resources:
        prose = Prose()
        seconds, collection = timed(lambda: fill(resources, NAME, options.chunks, prose=prose, spans=options.spans))
        report.line(f"filled in {seconds:.0f} s")
        questions = prose.questions()
        with served(resources) as address:
            compare(report, resources, collection, address, questions, options.rounds)
            compare_rerankers(report, address, questions, options.rounds)
            for clients in CLIENTS:
                load(report, address, list(itertools.islice(questions, options.requests)), clients)
    for failure in report.failures:
        report.line(f"FAILED {failure}")
    return 1 if report.failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200, help="questions asked of each side")
    parser.add_argument("--requests", type=int, default=400, help="for each number of clients")
    parser.add_argument("--no-spans", dest="spans", action="store_false")
    return parser.parse_args()


def compare(
    report: Report, resources: Resources, collection: Collection, address: str, questions: Iterator[str], rounds: int
) -> None:
    """The whole and its parts in turn, each on a question of its own that nothing was asked of for a while."""
    taken: dict[str, list[float]] = {name: [] for name in ("embed", "sql", "score", "whole")}
    with psycopg.connect(services.database_url(resources.settings), autocommit=True) as raw:
        register_vector(raw)
        raw.execute("SET synchronous_commit = off")
        client = Client(address)
        for question in itertools.islice(questions, 40):  # both sides warm: pages, plans, frequent terms
            client.search(question)
            pipeline.search(Question(question, NAME), resources)
        prepared = [_parts(question, resources, collection, raw) for question in itertools.islice(questions, rounds)]
        client = Client(address)  # the connection before was idle for longer than a server keeps it
        for parts in prepared:
            for name, call in parts.items():
                taken[name].append(timed(call)[0])
            taken["whole"].append(timed(lambda: client.search(next(questions)))[0])
    sums = [sum(three) for three in zip(taken["embed"], taken["sql"], taken["score"], strict=True)]
    for name, values in (taken | {"sum of parts": sums}).items():
        report.line(f"{name:14} {_percentiles(values)}")
    report.promise("whole over sum of parts, median", ratio(taken["whole"], sums), at_most=MOST)


def compare_rerankers(report: Report, address: str, questions: Iterator[str], rounds: int) -> None:
    """What the rerankers that need no model cost, against none of them."""
    client = Client(address)
    sides = {name: lambda name=name: client.search(next(questions), reranker=name) for name in RERANKERS}
    in_turn(sides, ROUNDS_BEFORE)
    taken = in_turn(sides, rounds)
    for name in RERANKERS[1:]:
        more = np.median(taken[name]) - np.median(taken["none"])
        report.line(
            f"reranker {name:8} {1_000 * more:+.1f} ms to a question's {1_000 * np.median(taken['none']):.1f} without"
        )


def _parts(
    question: str, resources: Resources, collection: Collection, raw: psycopg.Connection[Any]
) -> dict[str, Callable[[], object]]:
    """What must be done for a question, ready to be done again, each by itself and with nothing around it."""
    with recorded() as done:
        result = pipeline.search(Question(question, NAME), resources)
    with resources.database.write(visible=False) as connection:
        connection.execute("DELETE FROM query_log WHERE id = %s", (result.query_id,))
    terms, ranking = tokens(question), resources.ranking
    with resources.database.read() as connection:
        scored = lexical.score(connection, collection.id, terms, resources.segments, k1=ranking.k1, b=ranking.b)

    def score() -> None:
        for again in done.terms:
            again()
        scored.of(scored.top(ranking.candidates))

    embed = partial(resources.embedder.embed_questions, [question])
    return {"embed": embed, "sql": partial(_replay, raw, done), "score": score}


@contextmanager
def recorded() -> Iterator[Recorded]:
    """Note each statement that a cursor executes, and each term that is scored."""
    done, copied = Recorded(), list[Copied]()
    execute, copy, write, commit = (
        psycopg.Cursor.execute,
        psycopg.Cursor.copy,
        psycopg.Copy.write,
        psycopg.Connection.commit,
    )
    term = Index.term

    def noting_execute(cursor: Any, query: Any, params: Any = None, **kwargs: Any) -> Any:
        done.statements.append(Statement(query, params, kwargs | {"binary": bool(cursor.format)}))
        return execute(cursor, query, params, **kwargs)

    def noting_copy(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        copied.append(Copied(query))
        done.statements.append(copied[-1])
        return copy(cursor, query, *args, **kwargs)

    def noting_write(copying: Any, block: Any) -> None:
        copied[-1].blocks.append(bytes(block))
        write(copying, block)

    def noting_commit(connection: Any) -> None:
        done.statements.append(Statement("COMMIT"))
        commit(connection)

    def noting_term(*args: Any, **kwargs: Any) -> Any:
        done.terms.append(partial(term, *args, **kwargs))
        return term(*args, **kwargs)

    patched = mock.patch.multiple
    with (
        patched(psycopg.Cursor, execute=noting_execute, copy=noting_copy),
        patched(psycopg.Copy, write=noting_write),
        patched(psycopg.Connection, commit=noting_commit),
        patched(Index, term=noting_term),
    ):
        yield done


def _replay(raw: psycopg.Connection[Any], done: Recorded) -> None:
    for each in done.statements:
        each.run(raw)


class Client:
    """One kept connection; the standard library's client takes little time itself."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

    def search(self, question: str, **parameters: str) -> None:
        """A search that must find something."""
        body = json.dumps({"question": question, "collection": NAME, **parameters}).encode()
        self._connection.request("POST", "/search", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        reply = json.loads(response.read())
        if response.status != http.HTTPStatus.OK or not reply["hits"] or reply["degraded"]:
            raise RuntimeError(f"{response.status}: {reply}")


def load(report: Report, address: str, questions: Sequence[str], clients: int) -> None:
    """Ask all questions from some clients at once, each asking one after the other."""
    waiting, taken = iter(questions), list[float]()
    lock = threading.Lock()

    def ask() -> None:
        client = Client(address)
        while True:
            with lock:
                question = next(waiting, None)
            if question is None:
                return
            taken.append(timed(lambda: client.search(question))[0])  # noqa: B023 - called at once

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(taken) != len(questions):
        raise RuntimeError("a client failed")
    rate, cores = len(questions) / (time.perf_counter() - start), len(os.sched_getaffinity(0))
    report.line(f"{clients:2} clients     {_percentiles(taken)}  {rate:6.1f} questions/s, {rate / cores:.1f} per core")


def _percentiles(seconds: Sequence[float]) -> str:
    return "  ".join(f"p{p} {np.percentile(seconds, p) * 1_000:7.1f} ms" for p in (50, 95, 99))


@contextmanager
def served(resources: Resources) -> Iterator[str]:
    """`ragledger serve` on these servers, in a process of its own."""
    command = [sys.executable, "-c", "from app.cli import main; main()", "serve", "--port", "0"]
    environment = os.environ | {"RAGLEDGER_HOME": str(resources.settings.ragledger_home), "LOG_LEVEL": "warning"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own
    try:
        for line in process.stderr or ():
            if found := re.search(r"listens on (http://\S+)", line):
                yield found.group(1)
                return
        raise RuntimeError(f"`ragledger serve` ended with {process.wait()}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


if __name__ == "__main__":
    sys.exit(main())
