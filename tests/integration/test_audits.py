"""The audits that tell what to do next, run by psql as a person runs them, on what the service itself wrote."""

import subprocess
from collections.abc import Iterator
from unicodedata import east_asian_width

import psycopg
import pytest
from audited import COLLECTION, TEXTS, add, empty_database, fill, kept_resources, psql

from app.clients.embedder import Embedder
from app.ingest.pipeline import open_collection
from app.query.pipeline import answer, search
from app.records import Question, Ranking
from app.resources import Resources
from app.services import Endpoints
from app.settings import Settings

AUDITS = ("cold_chunks.sql", "duplicates.sql", "refusals.sql", "score_distribution.sql", "slow_queries.sql")
COLUMNS = 120
LETTER = " ".join(f"The {name} of the grinder is checked and cleaned once a month." for name in ("motor", "belt")) * 4


def asked_for(text: str, resources: Resources, **ranking: int) -> None:
    search(Question(text, COLLECTION, Ranking(**ranking)), resources)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def used(servers: Endpoints, settings: Settings, embedder: Embedder) -> Iterator[str]:
    """A database that was asked and answered, refused and searched, with duplicates in it."""
    with kept_resources(servers, settings, embedder) as (url, made):
        fill(made)
        add("copy.md", TEXTS["water.md"], made)
        add("letter.md", LETTER, made)
        add("letter2.md", LETTER.replace("once a month", "once per month", 1), made)
        for text in ("grinder", "How do I clear error E11000?", "退货 需要 保修卡 吗"):
            asked_for(text, made, top_k=2)
        answer(Question("How do I clear error E11000?", COLLECTION), made)
        for text in (
            *(
                "Who won the chess championship?",
                "who won the chess championship",
                "Who has won the chess championship?",
            ),
            *("Who won the chess championship?", "What does a ticket to the moon cost?"),
        ):
            answer(Question(text, COLLECTION), made)
        yield url


def printed(run: subprocess.CompletedProcess[str]) -> str:
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def line(text: str, *parts: str) -> str:
    """The one line that holds all parts."""
    found = [each for each in text.splitlines() if all(part in each for part in parts)]
    assert len(found) == 1, text
    return found[0]


def width(text: str) -> int:
    return max(sum(2 if east_asian_width(c) in "WF" else 1 for c in each) for each in text.splitlines())


@pytest.mark.parametrize("audit", AUDITS)
def test_an_audit_fits_the_terminal_and_takes_a_collection(audit: str, used: str) -> None:
    everything = printed(psql(used, audit))
    assert width(everything) <= COLUMNS
    assert printed(psql(used, audit, collection=COLLECTION)) == everything
    unknown = psql(used, audit, collection="it's nowhere")
    assert "No collection has the name it's nowhere" in unknown.stderr
    assert unknown.stdout == ""


@pytest.mark.parametrize("audit", AUDITS)
def test_an_audit_writes_nothing(audit: str, used: str) -> None:
    readonly = f"{used}?options=-c%20default_transaction_read_only%3Don"
    assert printed(psql(readonly, audit)) == printed(psql(used, audit))


@pytest.mark.parametrize("audit", AUDITS)
def test_an_audit_of_nothing_is_empty(audit: str, database_url: str, resources: Resources) -> None:
    printed(psql(database_url, audit))
    open_collection(COLLECTION, resources)
    printed(psql(database_url, audit))


@pytest.mark.parametrize("audit", AUDITS)
def test_a_database_without_tables_says_so(audit: str, servers: Endpoints) -> None:
    with empty_database(servers) as url:
        assert "run `ragledger migrate`" in psql(url, audit).stderr


def test_cold_chunks_are_those_that_no_question_returned(database_url: str, resources: Resources) -> None:
    fill(resources)
    asked_for("How do I clear error E11000?", resources, top_k=1, candidates=2)
    asked_for("How do I clear error E11000?", resources, top_k=1, candidates=2)
    text = printed(psql(database_url, "cold_chunks.sql"))
    with psycopg.connect(database_url) as connection:
        chunks, found, picked = connection.execute(
            "SELECT (SELECT count(*) FROM chunk), count(DISTINCT chunk_id),"
            " count(DISTINCT chunk_id) FILTER (WHERE picked) FROM query_hit"
        ).fetchall()[0]
    counts = line(text, COLLECTION, "2", str(chunks), " 0").split()
    assert counts[:2] == [COLLECTION, "2"]
    assert [int(n) for n in counts[3:]] == [chunks, chunks - found, found - picked, picked, 0]
    cold = text.split("COLD DOCUMENTS")[1].split("OVERSHADOWED")[0]
    assert "errors.md" not in cold
    assert "never" in line(cold, "travel.md")
    overshadowed = text.split("OVERSHADOWED CHUNKS")[1]
    assert overshadowed.count(COLLECTION) == found - picked
    asked_for("Book trains early", resources, top_k=1)
    assert "travel.md" not in printed(psql(database_url, "cold_chunks.sql")).split("COLD DOC")[1].split("OVERSH")[0]
    add("news.md", "A document that came later.", resources)
    assert line(printed(psql(database_url, "cold_chunks.sql")), "news.md").rstrip().endswith("new")


def test_a_chunk_that_another_one_stands_for_is_not_cold(database_url: str, resources: Resources) -> None:
    add("one.md", TEXTS["water.md"], resources)
    add("two.md", TEXTS["water.md"], resources)
    asked_for("soft water", resources)
    cold = printed(psql(database_url, "cold_chunks.sql")).split("COLD DOCUMENTS")[1]
    assert "one.md" not in cold
    assert "two.md" not in cold


def test_refusals_group_other_wordings_and_name_the_nearest_documents(used: str) -> None:
    text = printed(psql(used, "refusals.sql"))
    assert line(text, COLLECTION, "83.3").split()[1:4] == ["6", "5", "83.3"]
    questions = text.split("QUESTIONS that were refused")[1]
    assert line(questions, "chess").split()[:2] == ["4", "2"]
    assert line(questions, "moon").split()[:2] == ["1", "1"]
    assert ".md" in line(questions, "chess")
    apart = printed(psql(used, "refusals.sql", similar="0.9999")).split("QUESTIONS that were refused")[1]
    assert apart.count("chess") == 2
    assert "chess" not in printed(psql(used, "refusals.sql", days="0"))


def test_the_distribution_counts_every_candidate_once(used: str) -> None:
    text = printed(psql(used, "score_distribution.sql"))
    with psycopg.connect(used) as connection:
        candidates, returned = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE picked) FROM query_hit WHERE cosine IS NOT NULL"
        ).fetchall()[0]
        asks, answered = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE source = 'corpus') FROM query_log WHERE reason LIKE '%confidence%'"
        ).fetchall()[0]
    for score, expected in (("cosine", (candidates, returned)), ("answer confidence", (asks, answered))):
        rows = [each[each.index(score) + len(score) :].split() for each in text.splitlines() if f" {score} " in each]
        assert (sum(int(row[1]) for row in rows), sum(int(row[2]) for row in rows)) == expected
        lows = [float(row[0]) for row in rows]
        assert lows == sorted(set(lows))


def test_duplicates_are_told_by_document_by_chunk_by_search_and_by_vector(used: str) -> None:
    text = printed(psql(used, "duplicates.sql"))
    documents, rest = text.split("DOCUMENTS of equal content")[1].split("EQUAL CHUNKS")
    chunks, rest = rest.split("COLLAPSED IN SEARCHES")
    collapsed, near = rest.split("NEAR VECTORS")
    assert "water.md, copy.md" in line(documents, COLLECTION)
    assert line(chunks, COLLECTION, "soft water").split()[1:3] == ["2", "2"]
    assert "1.000" in line(collapsed, "water.md", "copy.md")
    assert "letter2.md" in line(near, "letter.md")
    assert "water.md" not in near  # equal is not near
    assert "letter" not in printed(psql(used, "duplicates.sql", near="0.99999")).split("NEAR VECTORS")[1]


def test_the_slowest_question_and_the_percentiles_of_its_steps_are_shown(
    database_url: str, resources: Resources
) -> None:
    fill(resources)
    for _ in range(4):
        asked_for("grinder", resources)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE query_log SET timings = jsonb_build_object('recall', 10 * n, 'total', 20 * n) FROM (SELECT id,"
            " row_number() OVER (ORDER BY at) AS n FROM query_log) o WHERE o.id = query_log.id"
        )
        slowest = connection.execute("SELECT id FROM query_log ORDER BY at DESC LIMIT 1").fetchall()[0][0]
    text = printed(psql(database_url, "slow_queries.sql"))
    assert line(text, "search", "recall", "25.0").split()[2:] == ["recall", "4", "25.0", "38.5", "39.7", "40.0"]
    first = text.split("THE SLOWEST QUESTIONS")[1].splitlines()[4]
    assert first.split()[0] == "80"
    assert str(slowest)[:8] in first
    assert "recall" not in printed(psql(database_url, "slow_queries.sql", days="0"))
