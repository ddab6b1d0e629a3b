"""Bytes for each chunk and each question, measured on a filled collection, and what they make of larger ones.

`python -m tests.bench.sizes [--chunks 20000]` fills one with spans and indexes it twice, in full and in half precision.
"""

import argparse
import itertools
import sys
from collections import defaultdict
from dataclasses import replace
from typing import LiteralString

import psycopg

from app import services
from app.ingest import index
from app.query import pipeline
from app.records import Collection, Question
from app.resources import Resources
from app.settings import ROOT
from tests.bench.filled import Prose, fill
from tests.bench.measured import Report
from tests.bench.serving import service

GROUPS = {
    "text": ("document", "chunk"),
    "vectors": ("embedding",),
    "spans": ("span", "span_embedding"),
    "bm25": ("lexical_segment", "lexical_posting", "lexical_tombstone"),
    "ledger": ("query_log", "query_hit"),
}
QUESTIONS = 200
LARGE = (10**6, 10**7, 10**8)


def main() -> int:
    """Fill, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=20_000)
    chunks = parser.parse_args().chunks
    report = Report(f"sizes, from {chunks:,} chunks")
    with service(exact_scan_max=1_000) as resources:
        prose = Prose()
        collection = fill(resources, "sizes", chunks, prose=prose)
        for question in itertools.islice(prose.questions(), QUESTIONS):
            pipeline.search(Question(question, "sizes"), resources)
        whole, hnsw = sizes(resources), {"vector": hnsw_bytes(resources)}
        hnsw["halfvec"] = rebuilt_in_half(resources, collection)
        characters = one(resources, "SELECT avg(length(text)) FROM chunk")
        spans = one(resources, "SELECT count(*) FROM span") / chunks
    report.line(f"chunks of {characters:,.0f} characters, with {spans:.1f} spans each")
    per_chunk = {name: sum(whole[table] for table in tables) for name, tables in GROUPS.items()}
    per_chunk["vectors"] -= hnsw["vector"]
    ledger = per_chunk.pop("ledger")
    per_chunk |= {f"hnsw {kind}": size for kind, size in hnsw.items()}
    report.line(f"{'':14} bytes a chunk " + "".join(f"{large:>14,}" for large in LARGE))
    for name, size in per_chunk.items():
        report.line(f"{name:14} {size:13,.0f} " + "".join(f"{size * large / 1e9:11,.1f} GB" for large in LARGE))
    report.line(f"{'ledger':14} {ledger:13,.0f} bytes a question")
    return 0


def sizes(resources: Resources) -> dict[str, float]:
    """Bytes for each chunk or question, by table with its partitions, as sql/audit/sizes.sql tells them."""
    told: dict[str, float] = defaultdict(float)
    with psycopg.connect(services.database_url(resources.settings)) as connection:
        for table, part, _, each, _ in connection.execute((ROOT / "sql/audit/sizes.sql").read_bytes()):
            told[table.partition("_s1")[0]] += float(each or 0) * (part == "whole")
    return told


def hnsw_bytes(resources: Resources) -> float:
    """Bytes for each chunk of the HNSW index."""
    return one(
        resources,
        """SELECT sum(pg_relation_size(c.oid)) / (SELECT count(*) FROM chunk)
           FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'hnsw' AND c.relkind = 'i'""",
    )


def one(resources: Resources, query: LiteralString) -> float:
    """The one number that a query returns."""
    with psycopg.connect(services.database_url(resources.settings)) as connection:
        ((number,),) = connection.execute(query).fetchall()
        return float(number)


def rebuilt_in_half(resources: Resources, collection: Collection) -> float:
    """The same in half precision."""
    settings = resources.settings.model_copy(update={"hnsw_halfvec": True})
    index.build(collection.space, replace(resources, settings=settings), lambda _: None, online=False)
    return hnsw_bytes(resources)


if __name__ == "__main__":
    sys.exit(main())
