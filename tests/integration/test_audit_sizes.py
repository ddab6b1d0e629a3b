"""sql/audit/sizes.sql, run by psql as a person runs it."""

import re

import psycopg
from audited import COLLECTION, fill, psql

from app.query.pipeline import search
from app.records import Question
from app.resources import Resources
from app.settings import ROOT


def test_the_sizes_of_all_tables_are_told_by_chunk_and_by_question(resources: Resources, database_url: str) -> None:
    fill(resources)
    search(Question("water", COLLECTION), resources)
    run = psql(database_url, "sizes.sql")
    assert (run.returncode, run.stderr) == (0, "")
    assert re.search(r"embedding_s\d+ +\| whole +\| .* \| chunk", run.stdout)
    with psycopg.connect(database_url) as connection:
        rows = connection.execute((ROOT / "sql" / "audit" / "sizes.sql").read_bytes()).fetchall()
        (chunks, whole) = connection.execute("SELECT count(*), pg_total_relation_size('chunk') FROM chunk").fetchall()[
            0
        ]
    told = {(table, part): each for table, part, _, each, _ in rows}
    assert told["chunk", "whole"] == round(whole / chunks)
    parts = [each for (table, part), each in told.items() if table == "chunk" and part != "whole"]
    assert 0 < sum(parts) <= told["chunk", "whole"] + len(parts)
    assert ("query_hit", "index query_hit_pkey") in told


def test_an_empty_database_has_nothing_to_share(database_url: str) -> None:
    run = psql(database_url, "sizes.sql")
    assert (run.returncode, run.stderr) == (0, "")
    assert "chunk_pkey" in run.stdout
