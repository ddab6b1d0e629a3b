"""The command line as a person uses it: real processes, on the run's servers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.services import Endpoints
from app.settings import ROOT


class Cli:
    """Runs `ragledger` on a database of the test's own."""

    def __init__(self, database_url: str, redis_url: str, home: Path) -> None:
        own = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "RAGLEDGER_HOME": str(home)}
        self.environment = os.environ | own | {"PYTHONPATH": str(ROOT), "PGCONNECT_TIMEOUT": "10"}

    def __call__(self, *arguments: str | Path, status: int = 0) -> str:
        command = [sys.executable, "-c", "from app.cli import main; main()", *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, cwd=ROOT)  # noqa: S603
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if status == 0 else done.stdout + done.stderr


@pytest.fixture
def cli(database_url: str, servers: Endpoints, home: Path) -> Cli:
    return Cli(database_url, servers.redis_url, home)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "kettle.md").write_text("# Kettle\n\nThe copper kettle holds 12 litres.", encoding="utf-8")
    (folder / "水壶.md").write_text("# 水壶\n\n铜壶的容量是十二升。", encoding="utf-8")
    return folder


def test_files_go_in_are_searched_and_answered(cli: Cli, notes: Path) -> None:
    assert "2 added" in cli("ingest", notes, "--collection", "k")
    assert "2 unchanged" in cli("ingest", notes, "--collection", "k")
    found = json.loads(cli("search", "铜壶容量", "--collection", "k", "--json"))
    assert found["hits"][0]["source"] == "水壶.md"
    answer = json.loads(cli("ask", "How many litres does the copper kettle hold?", "--collection", "k", "--json"))
    assert answer["citations"][0]["quote"] in (notes / "kettle.md").read_text(encoding="utf-8")
    again = json.loads(cli("ask", "How many litres does the copper kettle hold?", "--collection", "k", "--json"))
    assert again["cached"]
    ranking = ("--fusion", "rrf", "--reranker", "none", "--vector-weight", "0.2")
    other = json.loads(cli("search", "铜壶容量", "--collection", "k", "--json", *ranking))
    assert [hit["score"] for hit in other["hits"]] == [1 / 61 + 1 / 61, 1 / 62]
    answer = json.loads(cli("ask", "铜壶容量", "--collection", "k", "--json", "--reranker", "overlap"))
    assert [hit["rerank_score"] is None for hit in answer["hits"]] == [False, False]
    table = cli("search", "copper kettle", "--collection", "k")
    assert "kettle.md" in table
    assert "bm25" in table


def test_a_search_explains_itself_and_sql_agrees(cli: Cli, notes: Path) -> None:
    (notes / "copy.md").write_text((notes / "kettle.md").read_text(encoding="utf-8"), encoding="utf-8")
    cli("ingest", notes, "--collection", "k")
    asked = ("search", "How many litres does the copper kettle hold?", "--collection", "k", "--explain")
    tables = cli(*asked, "--expand-tokens", "200")
    for part in ("lexical confidence", "Paths", "Steps", "Best spans", "BM25 by term", "Collapsed", "equal text"):
        assert part in tables
    assert "Paths" not in cli(*asked[:-1])
    found = json.loads(cli(*asked, "--json"))
    rows = cli(
        *("psql", "-X", "-Atc"),
        "SELECT chunk_id || ' ' || score_recomputed || ' ' || bm25_recomputed"
        " FROM query_log CROSS JOIN ragledger_audit.explain(id) e WHERE picked ORDER BY at DESC, rank LIMIT 2",
    ).splitlines()
    assert len(rows) == len(found["hits"]) == 2
    for row, hit in zip(rows, found["explanation"]["hits"], strict=True):
        chunk_id, score, bm25 = row.split()
        assert int(chunk_id) == hit["chunk_id"]
        assert hit["vector_part"] + hit["bm25_part"] + hit["rerank_part"] == pytest.approx(float(score), abs=1e-5)
        assert sum(term["score"] for term in hit["terms"]) == pytest.approx(float(bm25), abs=1e-5)
    kept = json.loads(cli(*asked, "--keep-duplicates", "--json"))
    assert len(kept["hits"]) == 3


def test_a_bad_file_is_named_at_the_end_with_exit_code_1(cli: Cli, notes: Path) -> None:
    (notes / "broken.md").write_bytes(b"a\0b")
    output = cli("ingest", notes, "--collection", "k", status=1)
    assert "2 added, 1 failed" in output
    assert "failed: broken.md: " in output
    assert "NUL" in output


def test_files_wait_for_an_embedder_with_exit_code_3(cli: Cli, notes: Path) -> None:
    cli.environment |= {
        "EMBED_BACKEND": "openai",
        "EMBED_MODEL": "BAAI/bge-m3",
        "OPENAI_BASE_URL": "http://127.0.0.1:1",
    }
    cli.environment |= {"EMBED_RETRIES": "0"}
    output = cli("ingest", notes, "--collection", "k", status=3)
    assert "k: 2 pending" in output
    assert "2 wait for an embedder: " in output
    assert "k: 2 pending" in cli("ingest", "--pending", "--collection", "k", status=3)
    (notes / "kettle.md").write_text("A new version.", encoding="utf-8")
    cli("ingest", notes / "kettle.md", "--collection", "k", status=3)
    other = json.loads(cli("ingest", "--pending", "--all", "--json", status=3).splitlines()[0])
    assert {document["outcome"] for document in other["documents"]} == {"pending"}
    rows = cli("psql", "-X", "-Atc", "SELECT source || ' ' || left(content, 4) FROM pending_document ORDER BY source")
    assert rows.splitlines() == ["kettle.md A ne", "水壶.md # 水壶"]


def test_documents_that_waited_are_embedded_by_the_next_run(cli: Cli, notes: Path) -> None:
    cli("ingest", notes / "kettle.md", "--collection", "k")
    cli(
        *("psql", "-X", "-qc"),
        "INSERT INTO pending_document (collection_id, source, title, media_type, content, digest, error, reason)"
        " SELECT id, v.source, 't', 'text/plain', v.content, '', 'EmbedderUnavailable', 'away' FROM collection,"
        " (VALUES ('kettle.md', 'An old version.'), ('lid.md', 'The lid is of oak.')) v(source, content)",
    )
    # the file is what it was when it was stored, so the other version of it is the older one
    assert "2 added, 1 unchanged" in cli("ingest", notes, "--collection", "k")
    assert json.loads(cli("search", "oak lid", "--collection", "k", "--json"))["hits"][0]["source"] == "lid.md"
    assert "nothing waits" in cli("ingest", "--pending", "--collection", "k")


def test_a_dry_run_shows_the_outcomes_and_chunks_and_a_sync_removes_what_is_gone(cli: Cli, notes: Path) -> None:
    def dry(*options: str) -> dict[str, str]:
        made = json.loads(cli("ingest", notes, "--collection", "k", "--dry-run", "--json", *options))
        return {document["source"]: document["outcome"] for document in made["documents"]}

    shown = cli("ingest", notes, "--collection", "k", "--dry-run")
    for part in (
        "added     kettle.md",
        "0 line 1",
        "Kettle  # Kettle The copper kettle",
        "2 added",
        "nothing was changed",
    ):
        assert part in shown
    assert "no collection" in cli("search", "kettle", "--collection", "k", status=1)
    cli("ingest", notes, "--collection", "k")
    (notes / "kettle.md").write_text("# Kettle\n\nNew.", encoding="utf-8")
    (notes / "水壶.md").rename(notes / "壶.md")
    expected = {"kettle.md": "updated", "壶.md": "added"}
    assert dry() == expected
    assert dry("--sync") == expected | {"水壶.md": "removed"}
    done = cli("ingest", notes, "--collection", "k", "--sync")
    assert "1 added, 1 updated, 1 removed" in done
    assert "壶.md: has the same content as 水壶.md" in done
    assert dry("--sync") == {"kettle.md": "unchanged", "壶.md": "unchanged"}
    assert dry("--exclude", "kettle*") == {"壶.md": "unchanged"}
    for file in notes.iterdir():
        file.unlink()
    assert "nothing was removed" in cli("ingest", notes, "--collection", "k", "--sync", status=1)


@pytest.mark.parametrize("wrong", [[], ["--all"], ["x.md", "--pending"], ["--pending", "--all", "--collection", "k"]])
def test_ingest_needs_files_or_what_waits(cli: Cli, wrong: list[str]) -> None:
    assert "Usage: " in cli("ingest", *wrong, status=2)


def test_psql_opens_the_database_and_its_audits_agree(cli: Cli, notes: Path) -> None:
    cli("ingest", notes, "--collection", "k")
    cli("search", "copper kettle", "--collection", "k")
    assert cli("psql", "-X", "-Atc", "SELECT count(*) FROM document").strip() == "2"
    assert cli("psql", "-X", "-At", "-f", ROOT / "sql" / "audit" / "integrity.sql").strip() == ""
    assert "agree to 1e-5" in cli("psql", "-X", "-f", ROOT / "sql" / "audit" / "explain.sql")


def test_a_change_of_model_is_estimated_refused_and_given_up(cli: Cli, notes: Path) -> None:
    cli("ingest", notes, "--collection", "k")
    of_k = ("reembed", "--collection", "k")
    estimated = cli(*of_k, "--dry-run")
    for part in ("k: 2 chunks", "384 dimensions", "a sample of 2 chunks", "MB", "nothing was changed"):
        assert part in estimated
    assert "intfloat/multilingual-e5-small centred (builtin, 384 dimensions) already" in cli(*of_k)
    assert "no change of its model is under way" in cli(*of_k, "--abandon")
    assert "nowhere" in cli("reembed", "--collection", "nowhere", status=1)
    for options, said in (
        (("--dimension", "128"), "has dim 384"),
        (("--query-prefix", "ask: "), "has query_prefix 'query: '"),
        (("--abandon", "--model", "bge-m3"), "--collection alone"),
    ):
        assert said in cli(*of_k, *options, status=2)
    assert "no golden question" in cli(*of_k, "--min-ndcg-ratio", "1", status=1)
    assert "EMBED_MODEL" in cli(*of_k, "--backend", "ollama", status=1)
    assert "EMBED_BACKEND" in cli(*of_k, "--backend", "nobody", status=1)
    assert "384" in cli("psql", "-X", "-Atc", "SELECT DISTINCT vector_dims(embedding) FROM embedding")


def test_a_data_set_of_ones_own_is_measured(cli: Cli, tmp_path: Path) -> None:
    lines = {"d1": "The copper kettle holds 12 litres.", "d2": "Employees have 25 days of leave.", "d3": "铜壶很旧。"}
    corpus = [json.dumps({"_id": key, "text": text}) for key, text in lines.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(corpus), encoding="utf-8")
    queries = [{"_id": "q1", "text": "How much does the kettle hold?"}, {"_id": "q2", "text": "days of leave"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n", encoding="utf-8")
    result = json.loads(cli("eval", "--dataset", tmp_path, "--json"))
    for ranking in ("fused", "vector", "bm25"):
        assert result[ranking].keys() == {"ndcg@10", "mrr@10", "recall@1", "recall@10"}
    assert result["fused"]["recall@1"] == 1.0
    before = cli("psql", "-X", "-Atc", "SELECT count(*) FROM document")
    cli("eval", "--dataset", tmp_path, "--json")
    assert cli("psql", "-X", "-Atc", "SELECT count(*) FROM document") == before


def test_a_collection_is_measured_by_its_own_golden_questions(cli: Cli, notes: Path, tmp_path: Path) -> None:
    cli("ingest", notes, "--collection", "k")
    of_k = ("--collection", "k")
    assert "has no golden question" in cli("eval", *of_k, status=1)
    gold = [{"source": "kettle.md", "quote": "holds 12 litres"}]
    kettle = {"id": "1", "question": "How much does the kettle hold?", "gold": gold, "answer": None, "language": "und"}
    leave: dict[str, Any] = {
        "id": "2",
        "question": "Wer darf Urlaub nehmen?",
        "gold": [],
        "answer": None,
        "language": "de",
    }
    rows = [kettle | {"answerable": True}, leave | {"answerable": False}]
    file = tmp_path / "golden.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert "2 added, 0 replaced" in cli("golden", "import", file, *of_k)
    assert [json.loads(line) for line in cli("golden", "export", *of_k).splitlines()] == rows
    result = json.loads(cli("eval", *of_k, "--json"))
    assert (result["dataset"], result["questions"], result["fused"]["recall@1"]) == ("k", 1, 1.0)
    assert result["refusals"]["unanswerable"] == 1

    wrong = kettle | {"gold": [gold[0] | {"quote": "holds 13 litres"}]}
    file.write_text(json.dumps(leave | {"answerable": False, "answer": "new"}) + "\n" + json.dumps(wrong), "utf-8")
    assert "golden.jsonl:2: the quote is not a piece of 'kettle.md'" in cli("golden", "import", file, *of_k, status=1)
    assert [json.loads(line) for line in cli("golden", "export", *of_k).splitlines()] == rows  # all or none

    (notes / "kettle.md").write_text("# Kettle\n\nThe copper kettle holds 14 litres.", encoding="utf-8")
    cli("ingest", notes, "--collection", "k")
    assert json.loads(cli("eval", *of_k, "--json"))["fused"]["recall@10"] == 0.0
    assert "1 removed, 1 not found" in cli("golden", "remove", "1", "3", *of_k)
    assert [json.loads(line) for line in cli("golden", "export", *of_k).splitlines()] == rows[1:]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["search", "x", "--collection", "nowhere"], "nowhere"),
        (["search", " "], "question"),
        (["ingest", "no-such-file.md"], "no-such-file.md"),
        (["eval", "--dataset", "tests"], "tests"),
    ],
)
def test_a_mistake_is_told_in_one_line(cli: Cli, arguments: list[str], named: str) -> None:
    assert named in cli(*arguments, status=1)


def test_filters_narrow_a_search_and_bad_ones_are_named(cli: Cli, notes: Path) -> None:
    (notes / "grinder.md").write_text("---\nyear: 2024\nkind: machine\n---\n# Grinder\n\nEleven settings.", "utf-8")
    cli("ingest", notes, "--collection", "k")

    def sources(*options: str) -> list[str]:
        found = json.loads(cli("search", "grinder", "--collection", "k", "--json", *options))
        return [hit["source"] for hit in found["hits"]]

    assert sources("--filter", "year>=2020", "--filter", "kind:exists") == ["grinder.md"]
    assert sources("--filter", 'kind=["machine","tool"]', "--section", "Grinder") == ["grinder.md"]
    assert sources("--filter", 'year="2024"') == []
    assert sources("--source-prefix", "ket") == ["kettle.md"]
    assert sorted(sources("--filter", "kind:missing")) == ["kettle.md", "水壶.md"]
    for wrong, word in [("year", "expected key=value"), ("year>=true", "metadata.year.gte is no string or number")]:
        assert word in cli("search", "a", "--filter", wrong, status=2)
    assert "already" in cli("ask", "a", "--filter", "a=1", "--filter", "a=2", status=2)


def test_words_are_added_listed_and_removed(cli: Cli, notes: Path) -> None:
    cli("ingest", notes, "--collection", "k")
    done = cli("lexicon", "add", "user", "铜壶的容量", "COPPER kettle", "--collection", "k")
    assert done.splitlines() == ["2 added, 0 known already", "k: its index is made with the words as they are now"]
    assert "1 known already" in cli("lexicon", "add", "user", "铜壶的容量", "--collection", "k")
    assert "copper kettle" in cli("lexicon", "list", "--collection", "k")
    assert "is not one word" in cli("lexicon", "add", "stop", "two words", "--all", status=1)
    assert "exclude each other" in cli("lexicon", "add", "stop", "word", "--all", "--collection", "k", status=2)
    assert "no collection is named 'x'" in cli("lexicon", "add", "stop", "word", "--collection", "x", status=1)
    assert "1 removed, 1 not found" in cli("lexicon", "remove", "user", "铜壶的容量", "x", "--collection", "k")
    assert cli("lexicon", "apply") == ""
    assert cli("psql", "-X", "-At", "-f", ROOT / "sql" / "audit" / "integrity.sql").strip() == ""


def test_the_index_is_compacted_and_what_needs_nothing_is_passed_over_in_silence(cli: Cli, notes: Path) -> None:
    cli("ingest", notes, "--collection", "k")
    cli("ingest", notes, "--collection", "other")
    assert cli("compact", "--all") == ""
    assert "k: 2 segments became 1; 2 chunks, 0 dead ones dropped" in cli("compact", "--full", "--collection", "k")
    assert cli("compact", "--full", "--all").count("became") == 1
    assert cli("compact", "--full", "--all") == ""
    assert json.loads(cli("search", "铜壶", "--collection", "k", "--json"))["hits"][0]["source"] == "水壶.md"
    assert "no collection is named 'missing'" in cli("compact", "--collection", "missing", status=1)
    assert "exclude each other" in cli("compact", "--collection", "k", "--all", status=2)


def test_an_ingest_that_outgrows_exact_scans_indexes_its_vectors(cli: Cli, notes: Path) -> None:
    cli.environment["EXACT_SCAN_MAX"] = "1"
    cli("ingest", notes, "--collection", "k")
    assert "k: 2 chunks, indexed as vector(384)" in cli("index", "--collection", "k")
    found = json.loads(cli("search", "铜壶容量", "--collection", "k", "--json"))
    assert found["hits"][0]["source"] == "水壶.md"
