"""Loading ready-made vectors with their documents and chunks, against a plain binary COPY of the same rows.

`python -m tests.bench.load [--sizes 10000 100000 | --large]` fails where ours is below 0.4 of COPY's speed. Without an
HNSW index: a bulk load comes before it.
"""

import argparse
import statistics
import sys
from collections.abc import Mapping
from functools import partial

import numpy as np
import psycopg

from app import services
from app.records import Collection
from app.resources import Resources
from tests.bench import points
from tests.bench.measured import Report, ratio, timed
from tests.bench.serving import service

LEAST = 0.4
Admin = psycopg.Connection[tuple[object, ...]]


def main() -> int:
    """Both ways at each size, and how the time for a chunk grows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--large", action="store_true", help="10,000, 100,000 and 1,000,000")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    report = Report(
        f"load of ready-made vectors, {points.DIM} dimensions, {points.CHUNKS_PER_DOCUMENT} chunks a document"
    )
    sizes = [10_000, 100_000, 1_000_000] if options.large else options.sizes
    with service() as resources:
        into = points.collection(resources, "load")
        per_chunk = [compare(resources, into, size, options.rounds if size < 10**6 else 1, report) for size in sizes]
    for size, microseconds in zip(sizes[1:], per_chunk[1:], strict=True):
        report.line(
            f"a chunk among {size:,} takes {microseconds / per_chunk[0]:.2f} times as long as among {sizes[0]:,}"
        )
    return 1 if report.failures else 0


def compare(resources: Resources, into: Collection, size: int, rounds: int, report: Report) -> float:
    """Load and COPY in turn. Returns our microseconds for a chunk."""
    made = points.clustered(size, np.random.default_rng(size))
    tables = ("document", "chunk", f"embedding_s{into.space.id}")  # in the order of their foreign keys
    ours, plain = [], []
    with psycopg.connect(services.database_url(resources.settings), autocommit=True) as admin:
        for _ in range(rounds):
            ours.append(timed(lambda: points.load(resources, into, made))[0])
            rows = {table: exported(admin, table) for table in tables}
            emptied(admin)
            plain.append(timed(partial(copied, admin, rows))[0])
            emptied(admin)
    rates = [f"{size / statistics.median(side):,.0f} chunks/s" for side in (ours, plain)]
    report.line(f"{size:,} chunks: {rates[0]}, COPY {rates[1]}")
    report.promise(f"{size:,} chunks, of COPY's speed", ratio(plain, ours), at_least=LEAST)
    return 1e6 * statistics.median(ours) / size


def exported(admin: Admin, table: str) -> list[bytes]:
    """A table's rows in the binary format."""
    with admin.cursor() as cursor, cursor.copy(f"COPY {table} TO STDOUT (FORMAT binary)") as rows:
        return [bytes(row) for row in rows]


def copied(admin: Admin, rows: Mapping[str, list[bytes]]) -> None:
    """The same rows, in one transaction. The lock keeps ANALYZE out: one that came meanwhile would see tables without a
    row, and foreign keys would then be looked up by whichever index, for a million rows during hours."""
    with admin.transaction(), admin.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {', '.join(rows)} IN SHARE UPDATE EXCLUSIVE MODE")
        for table, blocks in rows.items():
            with cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copy:
                for start in range(0, len(blocks), 1_000):
                    copy.write(b"".join(blocks[start : start + 1_000]))


def emptied(admin: Admin) -> None:
    """Without the rows, and without what they left on the disk."""
    admin.execute("TRUNCATE document CASCADE")
    admin.execute("CHECKPOINT")


if __name__ == "__main__":
    sys.exit(main())
