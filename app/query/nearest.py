"""Vector recall: an exact scan, or the HNSW index where that is cheaper and finds as many."""

from dataclasses import dataclass
from math import isqrt

import numpy as np

from app.db import filters, spaces, vectors
from app.db.pool import Db
from app.db.vectors import IndexScan, Scored
from app.records import Asked, Ints, VectorScan
from app.settings import Settings

# How many vectors an exact scan reads in the time in which an index scan visits one. Measured with 100,000 and
# 1,000,000 of 384 dimensions on the embedded server: 0.7 to 5 microseconds (a collection, a list) against 20 to 30.
_VISIT_COST = 20
_PATIENCE = 2  # an index scan may visit so many times what pays
# Up to so many rows the configured ef_search is enough; recall falls as they grow, and rises with ef_search.
_EF_ROWS = 200_000
_FAR_MORE = 2  # an estimate of so many times the reach is trusted: counting would cost more than the search


@dataclass(frozen=True, slots=True)
class Plan:
    """Up to `reach` chunks are scanned exactly, more of them by `scan`; None where there is nothing but exact scans."""

    reach: int
    scan: IndexScan | None


def plan(asked: Asked, snapshot: Db, live_chunks: int, settings: Settings) -> Plan:
    """Choose by what either scan costs.

    To find `limit` among n chunks that lie scattered over a partition of `rows`, the index scan visits about
    limit * rows / n of them, the exact scan reads n: the exact one is cheaper up to sqrt(cost * limit * rows).
    """
    if live_chunks <= settings.exact_scan_max:
        return Plan(live_chunks, None)
    partition = spaces.partition(snapshot, asked.collection.space)
    rows = max(partition.rows, live_chunks)
    reach = max(settings.exact_scan_max, isqrt(_VISIT_COST * asked.question.ranking.candidates * rows))
    if partition.indexed_type is None or live_chunks <= reach:
        return Plan(live_chunks, None)
    visits = _PATIENCE * live_chunks // _VISIT_COST
    return Plan(reach, IndexScan(partition.indexed_type, _ef_search(asked, rows, live_chunks, settings), visits))


def _ef_search(asked: Asked, rows: int, live_chunks: int, settings: Settings) -> int:
    """The scan ranks as well as its first `ef_search` candidates were chosen: what goes on behind them is not better.

    Where few of those candidates may be found, a scan visits as many anyhow: all that pgvector takes cost nothing more.
    """
    if asked.question.filters.given() or rows > _FAR_MORE * live_chunks:
        return vectors.EF_SEARCH_MAX
    return int(settings.hnsw_ef_search * max(1.0, rows / _EF_ROWS) ** 0.5)


def listed(asked: Asked, snapshot: Db, plan: Plan) -> Ints | None:
    """The ids of all chunks that the filters allow, ascending; None without filters, and where they are too many."""
    wanted, collection_id = asked.question.filters, asked.collection.id
    if not wanted.given():
        return None
    if plan.scan is None:
        return filters.allowed(snapshot, collection_id, wanted)
    if filters.estimate(snapshot, collection_id, wanted) > _FAR_MORE * plan.reach:
        return None
    found = filters.allowed(snapshot, collection_id, wanted, limit=plan.reach + 1)
    return found if len(found) <= plan.reach else None


def chunks(asked: Asked, snapshot: Db, plan: Plan, allowed: Ints | None) -> tuple[Scored, VectorScan]:
    """The nearest chunks, best first, and the scan that found them: never fewer than there are, up to the limit."""
    if asked.vector is None:
        return (np.empty(0, np.int64), np.empty(0)), "none"
    collection, limit, wanted = asked.collection, asked.question.ranking.candidates, asked.question.filters
    if allowed is None and plan.scan is not None:
        found = vectors.nearest_indexed(snapshot, collection, asked.vector, limit, wanted, plan.scan)
        if len(found[0]) >= limit:  # the plan holds only where there are more
            return found, "hnsw"
    if allowed is None and wanted.given():
        allowed = filters.allowed(snapshot, collection.id, wanted)
    if allowed is None:
        return vectors.nearest(snapshot, collection, asked.vector, limit), "exact"
    return vectors.nearest_among(snapshot, collection, asked.vector, limit, allowed), "exact"
