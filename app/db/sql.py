"""Load the named statements of `sql/queries`.

A file is one aggregate; a statement begins at a line `-- name: <name>` and runs to the next one. Values are bound as
`%(name)s`; nothing is ever formatted into the text, except the names and types of partitions and their indexes, which
`app.db.spaces` knows.
"""

import re
from functools import cache
from typing import LiteralString

from app.settings import ROOT

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def _statements(aggregate: str) -> dict[str, LiteralString]:
    parts = _NAME.split((ROOT / "sql" / "queries" / f"{aggregate}.sql").read_text(encoding="utf-8"))
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def statement(aggregate: str, name: str) -> LiteralString:
    """The text of one statement. Raises KeyError where the file has no such name."""
    return _statements(aggregate)[name]
