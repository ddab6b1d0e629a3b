"""Documents in: one transaction each, nothing twice, nothing lost, nothing half-written."""

import itertools
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from app.db import collections, documents
from app.errors import Conflict, InvalidInput, NotFound
from app.ingest import embed, pipeline, store
from app.ingest.discover import discover
from app.ingest.formats import result
from app.ingest.tokenized import Tokenized
from app.lexical.tokens import tokens
from app.query import pipeline as search
from app.records import DocumentState, Ingested, Question, Source, WordList
from app.resources import Resources

PARAGRAPHS = [
    "# Kettles\n\nThe copper kettle holds 12 litres and heats in nine minutes.",
    "## Cleaning\n\nRinse the kettle with citric acid once a month.",
    "## 中文说明\n\n铜壶的容量是十二升，九分钟烧开。",
]


def source(text: str, name: str = "kettles.md") -> Source:
    return Source(name, "Kettles", "text/markdown", text)


def count(resources: Resources, table: str) -> int:
    with resources.database.read() as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        assert row
        return int(row[0])


def chunks_of(resources: Resources, document_id: int) -> dict[str, int]:
    with resources.database.read() as connection:
        page = documents.chunk_page(connection, document_id, after=-1, limit=1000)
    return {chunk.text: chunk_id for chunk_id, chunk in page}


def added(outcome: Ingested) -> int:
    assert outcome.document_id is not None
    return outcome.document_id


def test_the_same_document_again_is_unchanged(resources: Resources) -> None:
    text = "\n\n".join(PARAGRAPHS)
    first = pipeline.ingest(source(text), "k", resources)
    before = {table: count(resources, table) for table in ("chunk", "embedding", "span_embedding", "lexical_segment")}
    again = pipeline.ingest(source(text), "k", resources)
    assert (first.outcome, again.outcome) == ("added", "unchanged")
    assert before == {table: count(resources, table) for table in before}
    assert again.document_id == first.document_id


def test_a_changed_document_keeps_the_ids_and_vectors_of_unchanged_chunks(resources: Resources) -> None:
    small = pipeline.open_collection("k", resources)
    assert small.splitting.size_chars > max(map(len, PARAGRAPHS))
    sections = [f"# Part {n}\n\n" + f"Fact number {n} about kettles. " * 20 for n in range(4)]
    first = pipeline.ingest(source("\n\n".join(sections)), "k", resources)
    before = chunks_of(resources, added(first))
    changed = [*sections[:1], "# New\n\n" + "A new part stands here. " * 25, *sections[2:]]
    second = pipeline.ingest(source("\n\n".join(changed)), "k", resources)
    after = chunks_of(resources, added(second))
    kept = before.keys() & after.keys()
    assert second.outcome == "updated"
    assert second.version == 2
    assert kept
    assert before.keys() - after.keys()
    assert all(before[text] == after[text] for text in kept)
    assert second.chunks_reused == len(kept)


def places(resources: Resources, document_id: int) -> dict[str, tuple[int, int | None, int | None]]:
    """(id, page, line) of each chunk, by the number that it begins with."""
    with resources.database.read() as connection:
        page = documents.chunk_page(connection, document_id, after=-1, limit=1000)
    return {chunk.text.split()[0]: (chunk_id, chunk.page, chunk.line) for chunk_id, chunk in page}


def test_pages_and_lines_follow_a_chunk_that_moves(resources: Resources) -> None:
    pages = [f"{n} " + f"Page {n} tells of kettles. " * 30 for n in range(3)]

    def of_pages(texts: list[str]) -> Source:
        made = result.of_pages(texts)
        return Source("m.pdf", "M", "application/pdf", made.text, pages=made.pages)

    first = added(pipeline.ingest(of_pages(pages[1:]), "k", resources))
    before = places(resources, first)
    assert {text: place[1:] for text, place in before.items() if text in "12"} == {"1": (1, 1), "2": (2, 3)}
    assert pipeline.ingest(of_pages(pages), "k", resources).document_id == first
    after = places(resources, first)
    assert {text: after[text] for text in "12"} == {"1": (before["1"][0], 2, 3), "2": (before["2"][0], 3, 5)}
    hits = search.search(Question("page 2 kettles", "k"), resources).hits
    assert {hit.page for hit in hits if hit.text.startswith("2 ")} == {3}


def test_every_chunk_is_the_text_between_its_offsets(resources: Resources) -> None:
    pipeline.ingest(source("\ufeff前言\r\n\n" + "\n\n".join(PARAGRAPHS * 8)), "k", resources)
    with resources.database.read() as connection:
        wrong = connection.execute(
            "SELECT k.id FROM chunk k JOIN document d ON d.id = k.document_id "
            "WHERE substring(d.content, k.start_char + 1, k.end_char - k.start_char) <> k.text"
        ).fetchall()
    assert wrong == []


def test_equal_texts_in_two_documents_are_embedded_once(resources: Resources) -> None:
    text = "\n\n".join(PARAGRAPHS)
    pipeline.ingest(source(text, "a.md"), "k", resources)
    twin = pipeline.ingest(source(text, "b.md"), "k", resources)
    assert twin.outcome == "added"
    assert twin.chunks_reused == twin.chunks > 0


def test_a_bad_file_is_reported_and_the_others_go_in(resources: Resources, tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nA fine text.", encoding="utf-8")
    (tmp_path / "empty.md").write_text(" \n", encoding="utf-8")
    (tmp_path / "nul.txt").write_bytes(b"a\0b")
    (tmp_path / "broken.txt").write_bytes(b"\xff\xfe\xfd\x80\x81")
    outcomes = {o.source: o for o in pipeline.ingest_files(discover([tmp_path]), "k", resources)}
    assert outcomes["good.md"].outcome == "added"
    for name in ("empty.md", "nul.txt", "broken.txt"):
        assert outcomes[name].outcome == "failed"
        assert outcomes[name].reason
    assert count(resources, "document") == 1


@pytest.mark.parametrize("name", ["", " ", " x", "x\n", "x" * 201, "a\0b"])
def test_a_name_that_cannot_be_a_collection_is_refused(resources: Resources, name: str) -> None:
    with pytest.raises(InvalidInput, match="collection"):
        pipeline.ingest(source("text"), name, resources)


def test_a_chunk_gets_new_spans_where_the_splitting_changed(resources: Resources) -> None:
    pipeline.ingest(source(PARAGRAPHS[0]), "k", resources)
    with resources.database.write() as connection:
        connection.execute("UPDATE collection SET settings = jsonb_set(settings, '{splitting,spans}', 'false')")
    assert pipeline.ingest(source(PARAGRAPHS[0]), "k", resources).outcome == "updated"
    assert (count(resources, "span"), count(resources, "chunk")) == (0, 1)


def test_metadata_that_the_database_writes_otherwise_is_unchanged(resources: Resources) -> None:
    odd = Source("odd.md", "Odd", "text/plain", "A text.", {"large": 1e308, "nested": {"a": [1, 2.0, None]}})
    assert [pipeline.ingest(odd, "k", resources).outcome for _ in range(2)] == ["added", "unchanged"]


@pytest.mark.parametrize("state", ["disabled", "active"])
def test_a_state_set_while_a_document_is_embedded_is_kept(
    resources: Resources, monkeypatch: pytest.MonkeyPatch, state: DocumentState
) -> None:
    document_id = added(pipeline.ingest(source(PARAGRAPHS[0]), "k", resources))
    if state == "active":
        store.set_state(document_id, "disabled", resources)
    embed_now = embed.embed

    def meanwhile(*arguments: Any) -> Any:
        embedded = embed_now(*arguments)
        store.set_state(document_id, state, resources)
        return embedded

    monkeypatch.setattr(embed, "embed", meanwhile)
    pipeline.ingest(source(PARAGRAPHS[0] + " It is heavy."), "k", resources)
    found = search.search(Question("copper kettle litres", "k"), resources).hits
    assert [hit.bm25 > 0 for hit in found] == ([True] if state == "active" else [])


def test_a_collection_takes_vectors_of_its_own_model_only(resources: Resources) -> None:
    pipeline.ingest(source(PARAGRAPHS[0]), "k", resources)
    with resources.database.write() as connection:
        connection.execute("UPDATE embedding_space SET model = 'another'")
    other = pipeline.ingest(source(PARAGRAPHS[1], "b.md"), "k", resources)
    assert other.outcome == "pending"
    assert "another" in other.reason
    assert count(resources, "document") == 1


def test_a_failed_write_leaves_nothing_behind(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline.ingest(source(PARAGRAPHS[0]), "k", resources)
    before = {t: count(resources, t) for t in ("document", "chunk", "embedding", "span", "lexical_posting")}

    def broken(*_: object) -> None:
        raise OSError("the machine stops here")

    monkeypatch.setattr(collections, "bump", broken)
    with pytest.raises(OSError, match="stops here"):
        pipeline.ingest(source(PARAGRAPHS[1], "other.md"), "k", resources)
    assert before == {t: count(resources, t) for t in before}


def test_writers_of_one_source_never_interleave(resources: Resources) -> None:
    texts = ["\n\n".join(PARAGRAPHS[:n] * 3) for n in (1, 2, 3)]
    failures: list[Exception] = []

    def write(text: str) -> None:
        try:
            for _ in range(3):
                pipeline.ingest(source(text), "k", resources)
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert count(resources, "document") == 1
    with resources.database.read() as connection:
        rows = connection.execute("SELECT ordinal FROM chunk ORDER BY ordinal").fetchall()
    assert [row[0] for row in rows] == list(range(len(rows)))


def test_an_unknown_document_is_not_found(resources: Resources) -> None:
    with pytest.raises(NotFound, match="12345"):
        store.delete(12345, resources)
    with pytest.raises(NotFound, match="12345"):
        store.set_state(12345, "disabled", resources)


def test_a_collection_is_deleted_under_its_writers_without_a_deadlock(resources: Resources) -> None:
    stop = threading.Event()
    failures: list[Exception] = []

    def write(number: int) -> None:
        for turn in itertools.count():
            if stop.is_set():
                return
            try:
                text = f"Kettle {number} in turn {turn % 3}."
                pipeline.ingest(Source(f"{number}.txt", "K", "text/plain", text), "k", resources)
            except NotFound:
                continue  # deleted between two steps: said so
            except Exception as e:
                failures.append(e)
                return

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        with resources.database.write() as connection:
            collections.delete(connection, "k")
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    with resources.database.write() as connection:
        assert connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone() == (0,)


@pytest.fixture
def tokenized_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that ingest makes tokens of, in order."""
    seen: list[str] = []

    def counted(text: str, words: WordList) -> list[str]:
        seen.append(text)
        return tokens(text, words)

    monkeypatch.setattr("app.ingest.tokenized.tokens", counted)
    return seen


def test_only_new_chunks_are_tokenised(resources: Resources, tokenized_texts: list[str]) -> None:
    sections = [f"# Part {n}\n\n" + f"Fact number {n} about kettles. " * 40 for n in range(3)]
    document_id = added(pipeline.ingest(source("\n\n".join(sections)), "k", resources))
    before = chunks_of(resources, document_id)
    assert sorted(tokenized_texts) == sorted(before)
    tokenized_texts.clear()
    pipeline.ingest(source("\n\n".join([*sections, "# New\n\n" + "A new part. " * 40])), "k", resources)
    assert sorted(tokenized_texts) == sorted(chunks_of(resources, document_id).keys() - before.keys())


def test_a_conflict_makes_no_text_be_tokenised_twice(
    resources: Resources, monkeypatch: pytest.MonkeyPatch, tokenized_texts: list[str]
) -> None:
    bump = collections.bump
    failures = iter([Conflict("another was first")] * 3)

    def contended(*arguments: Any) -> int:
        for failure in failures:
            raise failure
        return bump(*arguments)

    monkeypatch.setattr(collections, "bump", contended)
    document_id = added(pipeline.ingest(source("\n\n".join(PARAGRAPHS)), "k", resources))
    assert sorted(tokenized_texts) == sorted(chunks_of(resources, document_id))
    tokenized_texts.clear()
    store.set_state(document_id, "disabled", resources)
    failures = iter([Conflict("another was first")] * 3)
    store.set_state(document_id, "active", resources)
    assert sorted(tokenized_texts) == sorted(chunks_of(resources, document_id))


def test_no_transaction_waits_for_tokens(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:

    def watched(text: str, words: WordList) -> list[str]:
        with resources.database.read() as connection:
            open_now = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()"
            ).fetchone()
        assert open_now == (0,)
        return tokens(text, words)

    monkeypatch.setattr("app.ingest.tokenized.tokens", watched)
    document_id = added(pipeline.ingest(source("\n\n".join(PARAGRAPHS)), "k", resources))
    store.set_state(document_id, "disabled", resources)
    store.set_state(document_id, "active", resources)


def test_a_document_that_changes_while_it_is_enabled_is_enabled_as_it_is_now(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = added(pipeline.ingest(source(PARAGRAPHS[0]), "k", resources))
    store.set_state(document_id, "disabled", resources)
    prepare = Tokenized.prepare
    changes = iter([PARAGRAPHS[1]])

    def meanwhile(made: Tokenized, texts: Iterable[str], words: WordList) -> None:
        prepare(made, texts, words)
        for text in changes:
            pipeline.ingest(source(text), "k", resources)

    monkeypatch.setattr(Tokenized, "prepare", meanwhile)
    assert store.set_state(document_id, "active", resources).version == 2
    assert [hit.text for hit in search.search(Question("citric acid", "k"), resources).hits] == [PARAGRAPHS[1]]
