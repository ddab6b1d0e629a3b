"""Which chunks a question's filters allow."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from psycopg.types.range import Range, TimestamptzRange

from app.db import wire
from app.db.pool import Db
from app.db.sql import statement
from app.records import Filters, Ints

_COMPARED = {"eq": "==", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def values(filters: Filters) -> dict[str, Any]:
    """What the condition binds; None switches a part of it off."""
    return {
        "filter_metadata": " && ".join(_condition(*item) for item in filters.metadata.items()) or None,
        "filter_source_prefix": filters.source_prefix or None,
        "filter_document_ids": list(filters.document_ids) or None,
        "filter_created_at": _period(filters.created_at),
        "filter_updated_at": _period(filters.updated_at),
        "filter_section": filters.section or None,
    }


def allowed(
    connection: Db, collection_id: int, filters: Filters, *, limit: int | None = None, among: Ints | None = None
) -> Ints:
    """The ids of the chunks that may be found, ascending: all, or `limit` of them, or those among given ones."""
    cursor = connection.cursor(binary=True)
    cursor.execute(statement("filters", "allowed"), _bound(collection_id, filters, limit, among), prepare=False)
    found = cast(Any, cursor.pgresult).get_value(0, 0)
    return wire.from_array(found, 8) if found else wire.NO_IDS


def estimate(connection: Db, collection_id: int, filters: Filters) -> int:
    """About how many chunks may be found, from the planner's statistics alone, in under a millisecond."""
    text = "EXPLAIN (FORMAT JSON) " + statement("filters", "allowed")
    values_bound = _bound(collection_id, filters, None, None)
    row = cast(tuple[Any], connection.execute(text, values_bound, prepare=False).fetchone())
    return int(row[0][0]["Plan"]["Plans"][0]["Plan Rows"])  # of what the aggregate reads


def _bound(collection_id: int, filters: Filters, limit: int | None, among: Ints | None) -> dict[str, Any]:
    ids = None if among is None else wire.Bigints(among)
    return values(filters) | {"collection_id": collection_id, "limit": limit, "chunk_ids": ids}


def _condition(key: str, asked: Mapping[str, Any]) -> str:
    """One key's condition as jsonpath. Keys and values enter as JSON literals, which jsonpath reads as they are.

    In its lax mode a list is compared element by element; values of different types compare as unknown, never as an
    error; an equality within `?()` is found by a jsonb_path_ops index.
    """
    place = f"$.{json.dumps(key)}"
    tests = [f"@ {_COMPARED[name]} {json.dumps(value)}" for name, value in asked.items() if name in _COMPARED]
    if "in" in asked:
        tests.append("(" + " || ".join(f"@ == {json.dumps(value)}" for value in asked["in"]) + ")")
    made = [f"exists({place} ? ({' && '.join(tests)}))"] if tests else []
    if "exists" in asked:
        made.append(("" if asked["exists"] else "!") + f"exists({place} ? (@ != null))")
    return " && ".join(made)


def _period(asked: Mapping[str, datetime]) -> Range[datetime] | None:
    if not asked:
        return None
    lower, upper = asked.get("gte", asked.get("gt")), asked.get("lte", asked.get("lt"))
    if lower and upper and lower > upper:
        return TimestamptzRange(empty=True)
    return TimestamptzRange(lower, upper, ("[" if "gte" in asked else "(") + ("]" if "lte" in asked else ")"))
