"""sql/audit/integrity.sql: silent on what the service wrote, and every check shown to see what it is there for."""

# every part of these statements is a constant of this file
# ruff: noqa: S608

import re
from collections.abc import Iterator

import psycopg
import pytest
from audited import COLLECTION, INTEGRITY, QUESTIONS, add, change, fill, kept_resources, psql

from app.clients.embedder import Embedder
from app.ingest.compact import TIER
from app.query import qa
from app.query.pipeline import answer, search
from app.records import Question
from app.resources import Resources
from app.services import Endpoints
from app.settings import Settings

CHECKS = INTEGRITY.split("broken (invariant, collection_id, place) AS (")[1]

FIRST_CHUNK = "(SELECT min(id) FROM chunk)"
LONGEST = "(SELECT document_id FROM chunk GROUP BY document_id ORDER BY count(*) DESC LIMIT 1)"
FIRST_SEGMENT = "(SELECT min(id) FROM lexical_segment)"
POSTING = f"INSERT INTO lexical_posting SELECT id, {FIRST_SEGMENT}, 'zzz', " + "{}, {} FROM collection"

# a question that was asked of the collection as it is
CURRENT = (
    "UPDATE query_log q SET revision = c.revision, lexical = ragledger_audit.bm25_lexical(c.id, tokens),"
    " at = now() + interval '1 hour' FROM collection c WHERE question LIKE '%grinder%';"
)
RETIRED_SPACE = (
    "INSERT INTO embedding_space (id, backend, model, dim, query_prefix, passage_prefix, state)"
    " OVERRIDING SYSTEM VALUE VALUES (9, '', '', 2, '', '', 'retired');"
)

# what breaks an invariant, and nothing but this one
BREAKS = [
    ("document-hash", "UPDATE document SET content_sha256 = repeat('0', 64)"),
    ("chunk-text", f"UPDATE chunk SET start_char = start_char + 1 WHERE id = {FIRST_CHUNK}"),
    ("chunk-hash", f"UPDATE chunk SET text_sha256 = repeat('0', 64) WHERE id = {FIRST_CHUNK}"),
    ("chunk-ordinals", f"UPDATE chunk SET ordinal = ordinal + 1 WHERE document_id = {LONGEST}"),
    ("chunk-order", f"UPDATE chunk SET ordinal = 1 - ordinal WHERE ordinal < 2 AND document_id = {LONGEST}"),
    (
        "document-without-chunks",
        "INSERT INTO document (collection_id, source, title, media_type, content, characters, content_sha256)"
        " SELECT id, 'empty', '', '', '', 0, encode(sha256(''), 'hex') FROM collection",
    ),
    ("partition-missing", "DROP TABLE qa_embedding_s1"),
    (
        "partition-missing",
        "ALTER TABLE qa_embedding DETACH PARTITION qa_embedding_s1",
    ),
    ("collection-space", "UPDATE embedding_space SET state = 'building'"),
    ("chunk-vector-missing", f"DELETE FROM embedding WHERE chunk_id = {FIRST_CHUNK}"),
    (
        "vector-in-other-space",
        "CREATE TABLE embedding_s9 PARTITION OF embedding FOR VALUES IN (9);"
        "INSERT INTO embedding (space_id, collection_id, chunk_id, embedding)"
        " SELECT 9, collection_id, chunk_id, embedding FROM embedding"
        f" WHERE chunk_id = {FIRST_CHUNK}",
    ),
    (
        "retired-space-kept",
        f"{RETIRED_SPACE} CREATE TABLE span_embedding_s9 PARTITION OF span_embedding FOR VALUES IN (9)",
    ),
    (
        "reembedding-space",
        f"{RETIRED_SPACE} INSERT INTO reembedding (collection_id, space_id) SELECT id, 9 FROM collection",
    ),
    (
        "vector-dimension",
        "ALTER TABLE embedding_s1 DROP CONSTRAINT embedding_s1_dim_check;"
        f"UPDATE embedding SET embedding = '[0.6,0.8]' WHERE chunk_id = {FIRST_CHUNK}",
    ),
    (
        "vector-dimension",
        "ALTER TABLE span_embedding_s1 DROP CONSTRAINT span_embedding_s1_dim_check;"
        f"UPDATE span_embedding SET embedding = '[0.6,0.8]' WHERE chunk_id = {FIRST_CHUNK}",
    ),
    ("vector-length", f"UPDATE embedding SET embedding = embedding + embedding WHERE chunk_id = {FIRST_CHUNK}"),
    ("vector-length", f"UPDATE span_embedding SET embedding = embedding + embedding WHERE chunk_id = {FIRST_CHUNK}"),
    (
        "vector-length",
        "INSERT INTO qa_embedding SELECT 1, p.collection_id, p.id, e.embedding + e.embedding"
        f" FROM qa_pair p, embedding e WHERE e.chunk_id = {FIRST_CHUNK} LIMIT 1",
    ),
    ("spans-missing", f"DELETE FROM span WHERE chunk_id = {FIRST_CHUNK}"),
    (
        "span-bounds",
        "UPDATE span SET end_char = end_char + 9999 WHERE (chunk_id, ordinal) IN"
        " (SELECT chunk_id, max(ordinal) FROM span GROUP BY chunk_id)",
    ),
    ("span-order", "DELETE FROM span WHERE ordinal = 0 AND chunk_id IN (SELECT chunk_id FROM span WHERE ordinal = 1)"),
    ("span-order", "UPDATE span SET start_char = start_char - 5 WHERE ordinal = 1"),
    ("span-vector-missing", f"DELETE FROM span_embedding WHERE chunk_id = {FIRST_CHUNK}"),
    (
        "segment-arrays",
        "UPDATE lexical_segment SET chunk_ids = ARRAY(SELECT unnest(chunk_ids) ORDER BY 1 DESC)"
        " WHERE cardinality(chunk_ids) > 1 AND id NOT IN (SELECT segment_id FROM lexical_tombstone)",
    ),
    ("segment-arrays", f"UPDATE lexical_segment SET lengths = lengths || 0 WHERE id = {FIRST_SEGMENT}"),
    ("posting-arrays", POSTING.format("'{0}'", "'{0}'")),  # a frequency of 0
    ("posting-arrays", POSTING.format("'{0}'", "'{}'")),  # unequal
    ("posting-arrays", POSTING.format("'{}'", "'{1}'")),
    ("posting-arrays", POSTING.format("'{9999}'", "'{1}'")),  # out of the segment
    (
        "posting-arrays",
        "UPDATE lexical_posting SET ordinals = ARRAY[ordinals[2], ordinals[1]] || ordinals[3:],"
        " frequencies = ARRAY[frequencies[2], frequencies[1]] || frequencies[3:] WHERE cardinality(ordinals) > 1",
    ),
    ("segment-lengths", "UPDATE lexical_segment SET lengths[1] = lengths[1] + 1"),
    ("segment-lengths", "DELETE FROM lexical_posting WHERE term = 'grinder'"),
    ("segment-words", "UPDATE lexical_segment SET tokenizer = tokenizer || ' words-0123456789abcdef'"),
    (
        "segment-words",
        "INSERT INTO word_list VALUES (repeat('0', 64), ARRAY['word'], ARRAY[]::text[]);"
        "UPDATE collection SET word_list = repeat('0', 64)",
    ),
    (
        "tombstone-bounds",
        f"INSERT INTO lexical_tombstone SELECT id, {FIRST_SEGMENT}, 9999 FROM collection;"
        f"UPDATE lexical_segment SET dead_count = dead_count + 1 WHERE id = {FIRST_SEGMENT}",
    ),
    ("dead-count", f"UPDATE lexical_segment SET dead_count = dead_count + 1 WHERE id = {FIRST_SEGMENT}"),
    (
        "chunk-not-indexed",
        "WITH buried AS (INSERT INTO lexical_tombstone SELECT l.* FROM (SELECT c.id, s.segment_id, s.ordinal"
        " FROM collection c, ragledger_audit.live_chunks(c.id) s LIMIT 1) l RETURNING segment_id)"
        " UPDATE lexical_segment SET dead_count = dead_count + 1 WHERE id IN (SELECT segment_id FROM buried)",
    ),
    (
        "chunk-indexed-twice",
        "INSERT INTO lexical_segment (collection_id, tokenizer, chunk_ids, lengths)"
        " SELECT c.id, '', ARRAY[min(s.chunk_id)], '{0}' FROM collection c, ragledger_audit.live_chunks(c.id) s"
        " GROUP BY c.id",
    ),
    ("dead-chunk-indexed", f"UPDATE document SET state = 'disabled' WHERE id = {LONGEST}"),
    ("dead-chunk-indexed", f"DELETE FROM document WHERE id = {LONGEST}"),
    ("qa-normalized", "UPDATE qa_pair SET normalized_question = 'How long'"),
    ("qa-normalized", "UPDATE qa_pair SET normalized_question = 'how long?'"),
    ("qa-normalized", "UPDATE qa_pair SET normalized_question = 'ｈｏｗ  long'"),
    ("qa-normalized", "UPDATE qa_pair SET normalized_question = ''"),
    ("query-ranks", "DELETE FROM query_hit WHERE rank = 1 AND fused_rank = 1"),
    (
        "query-ranks",  # the last row of a query
        "UPDATE query_hit SET collapsed_into = NULL, resemblance = NULL;"
        "DELETE FROM query_hit h WHERE rank = (SELECT max(rank) FROM query_hit o WHERE o.query_id = h.query_id)"
        " AND fused_rank = rank",
    ),
    ("query-ranks", "DELETE FROM query_hit"),
    ("query-picks", "UPDATE query_hit SET collapsed_into = 0 WHERE NOT picked"),
    ("query-picks", "UPDATE query_hit SET collapsed_into = chunk_id WHERE rank = 1"),
    ("query-picks", "UPDATE query_hit SET resemblance = 1 WHERE picked"),
    ("query-picks", "UPDATE query_hit SET passage_start_char = 0 WHERE picked"),
    ("query-picks", "UPDATE query_hit SET passage_start_char = 0, passage_end_char = 9 WHERE NOT picked"),
    ("query-lexical", "UPDATE query_log SET lexical = '{}'"),
    ("query-lexical", "UPDATE query_log SET lexical = jsonb_set(lexical, '{bound}', '1') WHERE lexical ? 'bound'"),
    ("query-lexical", "UPDATE query_log SET lexical = jsonb_set(lexical, '{terms,0,term}', '\"zzz\"')"),
    ("index-statistics", CURRENT + "UPDATE lexical_posting SET term = 'grinders' WHERE term = 'grinder'"),
    ("index-statistics", CURRENT + "UPDATE query_log SET lexical = jsonb_set(lexical, '{live_chunks}', '1')"),
    ("query-ranks", "UPDATE query_hit SET rank = 1 WHERE rank = 2"),
    ("revision", "UPDATE collection SET revision = 0"),
]


def everything(resources: Resources) -> None:
    """Every kind of operation, with merged segments, both kinds of question and a curated pair."""
    ids = fill(resources)
    search(Question(QUESTIONS[2], COLLECTION), resources)
    change(resources, ids)
    answer(Question(QUESTIONS[1], COLLECTION), resources)
    qa.add(COLLECTION, "How long is the 保修期？", "Two years.", resources)
    answer(Question("How long is the 保修期", COLLECTION), resources)
    add("empty 🫖.md", "\ufeff# Emoji 🫖\r\n\r\nTea — naïve, ① \t and 𠮷野家.\r\n" + "a" * 3000, resources)
    add("repeated.txt", "again " * 40_000, resources)  # more often than a smallint counts


@pytest.fixture(scope="module")
def healthy(servers: Endpoints, settings: Settings, embedder: Embedder) -> Iterator[str]:
    """The URL of a database that every kind of operation has left healthy, with tombstones in it."""
    with kept_resources(servers, settings, embedder) as (url, made):
        everything(made)
        add("water.md", "# Water\n\nUse soft water only.", made)
        add("errors.md", "# Errors\n\nNo errors are known.", made)
        yield url


def broken(connection: psycopg.Connection[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return connection.execute(INTEGRITY.encode()).fetchall()


def test_a_healthy_database_gives_no_row(healthy: str) -> None:
    run = psql(healthy, "integrity.sql")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.endswith("(0 rows)\n\n")


def test_an_empty_database_gives_no_row(database_url: str) -> None:
    assert "(0 rows)" in psql(database_url, "integrity.sql").stdout


def test_merged_segments_give_no_row(database_url: str, resources: Resources) -> None:
    ids = fill(resources)
    change(resources, ids)
    for n in range(2 * TIER):
        add(f"more{n}.md", f"Note number {n}.", resources)
    with psycopg.connect(database_url) as connection:
        assert broken(connection) == []


@pytest.mark.parametrize(("invariant", "damage"), BREAKS)
def test_a_broken_invariant_is_named_and_no_other(invariant: str, damage: str, healthy: str) -> None:
    with psycopg.connect(healthy) as connection:
        connection.execute(damage.encode())
        assert {row[0] for row in broken(connection)} == {invariant}
        connection.rollback()


def test_every_check_has_a_case_that_breaks_it() -> None:
    labels = re.findall(r"^    SELECT '([\w-]+)'", CHECKS, re.MULTILINE)
    assert len(labels) == len(set(labels)) > 20
    assert set(labels) == {invariant for invariant, _ in BREAKS}


def test_every_check_says_what_to_do() -> None:
    checks = CHECKS.split("UNION ALL")
    assert len(checks) == len({invariant for invariant, _ in BREAKS})
    assert all(re.match(r"\s*(-- .+\n\s*)+SELECT '", check) for check in checks)


def test_a_row_counts_the_places_and_names_the_first_five(healthy: str) -> None:
    with psycopg.connect(healthy) as connection:
        connection.execute("UPDATE chunk SET text_sha256 = ''")
        [(invariant, collection, places, first)] = broken(connection)
        connection.rollback()
    assert (invariant, collection) == ("chunk-hash", COLLECTION)
    assert int(places) > 5
    assert len(first.split("; ")) == 5
