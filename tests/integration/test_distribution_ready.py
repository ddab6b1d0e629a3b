"""The tables can be distributed by collection_id (Citus): a collection's rows stand together, and statements say which.

Held against PostgreSQL's own catalog and the statements' text; no Citus server is involved.
"""

import re
from collections.abc import Iterator

import psycopg
import pytest

from app.settings import ROOT

DISTRIBUTED = {
    *(
        "document",
        "document_version",
        "document_change",
        "pending_document",
        "chunk",
        "embedding",
        "span",
        "span_embedding",
    ),
    *("lexical_segment", "lexical_posting", "lexical_tombstone"),
    *("qa_pair", "qa_embedding", "golden_question", "query_log", "query_hit"),
}
REFERENCE = {  # few rows, on every node
    "collection": "what the distributed tables refer to",
    "embedding_space": "one row for each model",
    "word_list": "one row for each list of words that a collection is tokenised with",
    "reembedding": "at most one row for each collection",
    "lexicon_entry": "words; those of no collection hold for all",
}
LOCAL = {  # on the coordinator
    "alembic_version": "one row",
    "api_key": "a few rows that no statement joins",
    "job": "a few rows that no statement joins",
    "eval_run": "one row for each run of an evaluation",
    "eval_case": "its questions; they name queries without a foreign key",
}
EVERYWHERE = {  # statements that go to every node, and why
    "collections.names": "counts the documents of all collections, for a list that a person reads",
    "documents.get": "a document is known to clients by an id that names no collection; found by document_id_idx",
    "documents.collection_of": "the same; what follows names the collection",
    "chunks.page": "the same: the document's collection is looked up",
    "qa_pairs.get": "a pair is known to clients by its id alone; found by qa_pair_id_idx",
    "qa_pairs.collection_of": "the same; what follows names the collection",
    "lexicon.states": "what made the segments of all collections, asked when words change and when the service starts",
    "pending.collections": "which collections have documents that wait, asked by one thread at its leisure",
    "queries.get": "a query is known to clients by its id alone; found by query_log_id_idx",
}
PARTITION = re.compile(r"_s\d+$")
TABLE = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO|COPY)\s+(\w+)")
BOUND = re.compile(r"\bcollection_id = %\(collection_id\)s")
JOINED = re.compile(r"\b\w+\.collection_id = \w+\.collection_id\b")
INSERTED = re.compile(r"\b(?:INTO|COPY)\s+\w+\s*\([^)]*\bcollection_id\b")


@pytest.fixture
def catalog(database_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(database_url) as connection:
        yield connection


Catalog = psycopg.Connection[tuple[object, ...]]


def test_every_table_is_distributed_a_reference_or_local(catalog: Catalog) -> None:
    rows = catalog.execute(
        "SELECT c.relname FROM pg_class c WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
    )
    tables = {str(name) for (name,) in rows if not PARTITION.search(str(name))}
    assert tables == DISTRIBUTED | REFERENCE.keys() | LOCAL.keys()


def test_collection_id_is_there_and_never_null_in_every_distributed_table(catalog: Catalog) -> None:
    rows = catalog.execute(
        """SELECT attrelid::regclass::text FROM pg_attribute
           WHERE attname = 'collection_id' AND attnotnull AND atttypid = 'bigint'::regtype"""
    )
    assert {name for (name,) in rows} >= DISTRIBUTED


def test_every_unique_key_of_a_distributed_table_begins_with_collection_id(catalog: Catalog) -> None:
    rows = catalog.execute(
        """SELECT i.indrelid::regclass::text, i.indexrelid::regclass::text, a.attname
           FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
           WHERE i.indisunique"""
    ).fetchall()
    keys = [(index, first) for table, index, first in rows if table in DISTRIBUTED]
    assert len({table for table, *_ in rows} & DISTRIBUTED) == len(DISTRIBUTED)
    assert {index for index, first in keys if first != "collection_id"} == set()


def test_every_foreign_key_between_distributed_tables_begins_with_collection_id(catalog: Catalog) -> None:
    rows = catalog.execute(
        """SELECT f.conname, f.conrelid::regclass::text, f.confrelid::regclass::text,
                  (SELECT attname FROM pg_attribute WHERE attrelid = f.conrelid AND attnum = f.conkey[1]),
                  (SELECT attname FROM pg_attribute WHERE attrelid = f.confrelid AND attnum = f.confkey[1])
           FROM pg_constraint f WHERE f.contype = 'f' AND f.conparentid = 0"""
    ).fetchall()
    assert rows
    for name, source, target, column, referred in rows:
        if source in DISTRIBUTED and target in DISTRIBUTED:
            assert (column, referred) == ("collection_id", "collection_id"), name
        elif source not in DISTRIBUTED:
            assert target not in DISTRIBUTED, f"{name} leads from a table that is not distributed to one that is"


def statements() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted((ROOT / "sql" / "queries").glob("*.sql")):
        text = re.sub(r"--(?! name:).*", "", file.read_text(encoding="utf-8"))
        parts = re.split(r"^-- name: (\w+)\s*$", text, flags=re.MULTILINE)
        found |= {f"{file.stem}.{name}": body for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    return found


def says_which(statement: str) -> bool:
    """Whether each distributed table in a statement is held to the one collection."""
    read = [table for table in TABLE.findall(statement) if table in DISTRIBUTED]
    return len(BOUND.findall(statement) + JOINED.findall(statement) + INSERTED.findall(statement)) >= len(read)


@pytest.mark.parametrize("name", statements())
def test_every_statement_on_a_distributed_table_names_the_collection(name: str) -> None:
    assert says_which(statements()[name]) != (name in EVERYWHERE)


def test_the_statements_that_go_everywhere_only_read() -> None:
    for name in EVERYWHERE:
        assert not re.search(r"\b(INSERT|UPDATE|DELETE|COPY|FOR)\b", statements()[name]), name


def test_a_statement_that_forgets_the_collection_is_noticed() -> None:
    assert not says_which("SELECT id FROM chunk WHERE id = 1")
    assert not says_which("SELECT 1 FROM chunk k JOIN document d ON d.id = k.document_id WHERE k.collection_id = 1")
    assert says_which("SELECT id FROM chunk WHERE collection_id = %(collection_id)s")
