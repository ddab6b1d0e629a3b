"""sql/audit/segments.sql, run by psql and as one statement: it foretells what compaction does."""

import psycopg
import pytest
from audited import psql

from app.db import collections, postings
from app.ingest import compact
from app.lexical import segments
from app.records import ModelIdentity, Space, Splitting
from app.resources import Resources
from app.settings import ROOT

SCRIPT = (ROOT / "sql" / "audit" / "segments.sql").read_bytes()


@pytest.fixture
def collection_id(resources: Resources) -> int:
    """Segments of every kind: to be kept, to be merged, to be written anew, to be deleted."""
    with resources.database.write() as connection:
        made = collections.ensure(connection, "k", Space(0, ModelIdentity("none", "none", 3, "", "")), Splitting()).id
        chunk_id = 0
        for size, count, tokenizer in ((1, 9, "new"), (1, 7, "old"), (63, 1, "new"), (64, 7, "new"), (512, 2, "new")):
            for _ in range(count):
                ids = range(chunk_id, chunk_id + size)
                chunk_id += size
                postings.add(connection, made, segments.build({i: ["a", f"b{i}"] for i in ids}), tokenizer)
        postings.bury(connection, made, range(100, 120))  # of the first with 64 chunks
        postings.retire(connection, made, [max(s.id for s in postings.segments(connection, made))])
    return made


def test_what_it_foretells_is_what_compaction_chooses(
    resources: Resources, collection_id: int, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        cursor = connection.execute(SCRIPT)
        names = [column.name for column in cursor.description or []]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    with resources.database.read() as snapshot:
        state = postings.segments(snapshot, collection_id)
        retired = postings.retired(snapshot, collection_id)
    said = {row["segment"]: row["next"] for row in rows}
    chosen = dict.fromkeys(retired, "delete")
    for work in reversed(compact.works(state)):  # the first is done first
        chosen |= dict.fromkeys(work.segment_ids, "merge" if len(work.segment_ids) > 1 else "rewrite")
    assert {i: word.split()[0] for i, word in said.items() if word != "keep"} == chosen
    assert set(chosen.values()) == {"merge", "rewrite", "delete"}
    for row in rows:
        assert row["tier"] == compact.tier(row["chunks"])
        assert row["terms"] == row["chunks"] + 1
    compact.compact(collection_id, resources)
    assert not {"merge", "rewrite", "delete"} & set(psql(database_url, "segments.sql").stdout.split())


def test_a_database_without_a_collection_has_no_segments(database_url: str) -> None:
    run = psql(database_url, "segments.sql")
    assert (run.returncode, run.stderr) == (0, "")
    assert "(0 rows)" in run.stdout


@pytest.mark.parametrize("chunks", [0, 1, 63, 64, 511, 512, 4_095, 4_096, 32_767, 32_768, 2_000_000_000])
def test_sql_and_python_agree_on_the_tier(chunks: int, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        sql = "SELECT count(*) FROM generate_series(2, 10) AS power WHERE %s >= 8 ^ power"
        assert connection.execute(sql, (chunks,)).fetchone() == (compact.tier(chunks),)
    assert b"FROM generate_series(2, 10) AS power WHERE g.chunk_count >= 8 ^ power" in SCRIPT
