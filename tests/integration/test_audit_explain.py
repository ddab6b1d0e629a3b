"""sql/audit/explain.sql, run by psql as a person runs it."""

import subprocess
from collections.abc import Iterator
from unicodedata import east_asian_width

import psycopg
import pytest
from audited import COLLECTION, QUESTIONS, TEXTS, add, change, empty_database, fill, kept_resources, psql

from app.clients.embedder import Embedder
from app.ingest.pipeline import open_collection
from app.query import qa
from app.query.pipeline import answer, search
from app.records import Question, Ranking
from app.resources import Resources
from app.services import Endpoints
from app.settings import Settings

COLUMNS = 120


@pytest.fixture(scope="module")
def asked(servers: Endpoints, settings: Settings, embedder: Embedder) -> Iterator[tuple[str, dict[str, str]]]:
    """A database and the ids of a search, an answer and a curated answer, in this order."""
    with kept_resources(servers, settings, embedder) as (url, made):
        fill(made)
        ids = {"search": str(search(Question(QUESTIONS[2], COLLECTION), made).query_id)}
        ids["answer"] = str(answer(Question(QUESTIONS[1], COLLECTION, use_cache=False), made).query_id)
        qa.add(COLLECTION, "How long?", "Two years.", made)
        ids["curated"] = str(answer(Question("How long?", COLLECTION), made).query_id)
        yield url, ids


def printed(run: subprocess.CompletedProcess[str]) -> str:
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def width(line: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in line)


def test_a_search_is_shown_with_its_candidates_and_recomputed(asked: tuple[str, dict[str, str]]) -> None:
    url, ids = asked
    text = printed(psql(url, "explain.sql", query=ids["search"]))
    for part in (
        QUESTIONS[2],
        ids["search"],
        "vector_weight=0.4",
        "保修",
        "warranty.md",
        "BM25 BY TERM",
        "live chunks",
    ):
        assert part in text
    # the curated pair came later and changed the revision, but no chunk
    assert "The recomputed scores agree to 1e-5" in text
    assert "DIFFERS" not in text


def test_paths_spans_and_what_was_collapsed_are_shown(database_url: str, resources: Resources) -> None:
    fill(resources)
    add("copy.md", TEXTS["warranty.md"], resources)
    ranking = Ranking(expand_tokens=1_000, rerank_coverage_weight=0.2)
    search(Question("cleans the grinder: warranty 保修", COLLECTION, ranking), resources)
    text = printed(psql(database_url, "explain.sql"))
    for part in ("PATHS", "minmax_confidence", "BEST SPANS", "COLLAPSED", "part of its passage", "the same words"):
        assert part in text
    assert "that the question could reach, over c0 0.35" in text
    assert "Taken as stored" not in text
    assert "DIFFERS" not in text
    assert max(map(width, text.splitlines())) <= COLUMNS


def test_what_sql_cannot_recompute_is_said(database_url: str, resources: Resources) -> None:
    fill(resources)
    search(Question(QUESTIONS[2], COLLECTION, Ranking(reranker="overlap")), resources)
    said = "Taken as stored, since SQL has neither tokenizer nor model: rerank_score"
    assert said in printed(psql(database_url, "explain.sql"))


def test_an_answer_is_shown_with_its_citations(asked: tuple[str, dict[str, str]]) -> None:
    url, ids = asked
    text = printed(psql(url, "explain.sql", query=ids["answer"]))
    assert "CITATIONS" in text
    assert "[1]" in text
    assert "退货时需要出示保修卡和发票" in text


def test_every_line_fits_the_terminal(asked: tuple[str, dict[str, str]]) -> None:
    url, ids = asked
    for query in ids.values():
        lines = printed(psql(url, "explain.sql", query=query)).splitlines()
        assert max(map(width, lines)) <= COLUMNS


def test_without_an_id_the_latest_question_is_explained(asked: tuple[str, dict[str, str]]) -> None:
    url, ids = asked
    text = printed(psql(url, "explain.sql"))
    assert ids["curated"] in text
    assert "Two years." in text
    assert "No candidates were ranked for this question" in text


def test_the_number_of_candidates_shown_can_be_chosen(asked: tuple[str, dict[str, str]]) -> None:
    url, ids = asked
    assert "CANDIDATES 2 of " in printed(psql(url, "explain.sql", query=ids["search"], hits="2"))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("1b4e28ba-2fa1-41d2-883f-0016d3cca427", "No question has the id 1b4e28ba-2fa1-41d2-883f-0016d3cca427"),
        ("7", "Not the id of a question: 7"),
        ("'; DROP TABLE chunk; --", "Not the id of a question: '; DROP TABLE chunk; --"),
        ("", "Not the id of a question:"),
    ],
)
def test_a_wrong_id_is_told_in_a_sentence(query: str, message: str, asked: tuple[str, dict[str, str]]) -> None:
    run = psql(asked[0], "explain.sql", query=query)
    assert message in run.stderr
    assert "ERROR" not in run.stderr
    assert run.stdout == ""


def test_a_database_that_was_asked_nothing_says_so(database_url: str) -> None:
    assert "No question has been asked" in psql(database_url, "explain.sql").stderr


def test_a_database_without_tables_says_so(servers: Endpoints) -> None:
    with empty_database(servers) as url:
        assert "run `ragledger migrate`" in psql(url, "explain.sql").stderr


def test_a_changed_score_is_named(database_url: str, resources: Resources) -> None:
    fill(resources)
    search(Question(QUESTIONS[2], COLLECTION), resources)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE query_hit SET score = score + 0.001 WHERE rank = 1")
    assert "DIFFERS: score, with the statistics counted now." in printed(psql(database_url, "explain.sql"))


def test_a_question_is_still_explained_when_its_collection_has_changed(database_url: str, resources: Resources) -> None:
    ids = fill(resources)
    search(Question(QUESTIONS[2], COLLECTION), resources)
    change(resources, ids)
    text = printed(psql(database_url, "explain.sql"))
    assert "5 then, 10 now" in text
    assert "agree to 1e-5, with the statistics kept at the question: the collection has changed since." in text
    assert "3 of the candidates could not be recomputed" in text
    assert "disabled" in text


def test_a_question_to_an_empty_collection_is_explained(database_url: str, resources: Resources) -> None:
    open_collection(COLLECTION, resources)
    search(Question("Anything?", COLLECTION), resources)
    assert "No candidates were ranked" in printed(psql(database_url, "explain.sql"))


def test_names_with_quotes_and_percent_signs_are_shown_as_they_are(database_url: str, resources: Resources) -> None:
    add("it's 100%s \\x.md", "A note on :query and %(name)s.", resources)
    search(Question("What's 100% :query \\gset?", COLLECTION), resources)
    text = printed(psql(database_url, "explain.sql"))
    assert "What's 100% :query \\gset?" in text
    assert "it's 100%s \\x.md" in text
