"""Another model for a collection: beside the old vectors, seen whole or not at all, whatever happens meanwhile."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import psycopg
import pytest
from audited import broken, psql
from pydantic import SecretStr

from app import services
from app.cli import reembed as command
from app.clients.embedder import Embedder, checked
from app.db import collections, indexes, reembeddings, spaces
from app.db.indexes import Progress
from app.errors import CollectionNotFound, Conflict, EmbedderUnavailable, EmbeddingFailed
from app.evaluate import golden
from app.evaluate.compare import Comparison, compare
from app.ingest import estimate, pipeline, reembed, retire, store
from app.ingest.tokenized import Tokenized
from app.query import pipeline as search
from app.query.timing import Timings
from app.query.understand import understand
from app.records import Collection, Gold, GoldenQuestion, Question, Source, Space, Vectors
from app.resources import Resources
from app.services import processes
from tests.embedders import Away
from tests.hashed import NEW, OLD, Hashed, backends, identity

QUESTION = "copper kettle litres"
WORDS = ("copper", "kettle", "litres", "grinder", "manual", "valve", "steam", "boiler", "filter", "travel")


class Nan(Hashed):
    """A model that makes no vector of some texts."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed_passages(texts)
        vectors[["not finite" in text for text in texts]] = np.nan
        return checked.unit_rows(vectors, count=len(texts), dim=self.identity.dim)


@pytest.fixture
def old() -> Hashed:
    return Hashed(OLD)


@pytest.fixture
def new() -> Hashed:
    return Hashed(NEW)


@pytest.fixture
def own(resources: Resources, database_url: str, old: Hashed, new: Hashed) -> Resources:
    """Resources whose settings name the test's own database, with both models; `k` is made with the old one."""
    settings = resources.settings.model_copy(update={"database_url": SecretStr(database_url)})
    made = replace(resources, settings=settings)
    made.__dict__["backends"] = backends(settings, old, new, Hashed(identity("third")), Hashed(identity("short", 8)))
    made_with_old(made, "k")
    return made


def made_with_old(resources: Resources, name: str) -> None:
    with resources.database.write() as connection:
        collections.ensure(connection, name, Space(0, OLD), resources.splitting)


def add(resources: Resources, name: str, text: str = "", collection: str = "k") -> int:
    number = sum(map(ord, name))
    words = " ".join(WORDS[(number * 7 + n * n) % len(WORDS)] for n in range(6))
    outcome = pipeline.ingest(Source(name, name, "text/plain", text or f"{name} {words}."), collection, resources)
    assert outcome.document_id is not None
    return outcome.document_id


def filled(resources: Resources, documents: int = 10, collection: str = "k") -> list[int]:
    return [add(resources, f"document {n}", collection=collection) for n in range(documents)]


def changed(resources: Resources, watch: Callable[[Progress], None] = lambda _: None, **options: Any) -> bool:
    return reembed.reembed("k", options.pop("target", NEW), resources, watch, **options)


def collection(resources: Resources, name: str = "k") -> Collection:
    with resources.database.read() as connection:
        return collections.get(connection, name)


def rows(resources: Resources, sql: str, *values: Any) -> list[Any]:
    with resources.database.read() as connection:
        return connection.execute(sql, values).fetchall()


def stop(_old: Collection, _new: Collection) -> None:
    raise KeyboardInterrupt


def under_way(resources: Resources) -> Space | None:
    with resources.database.read() as connection:
        return reembeddings.find(connection, collection(resources).id)


def assert_whole(resources: Resources, model: Embedder, name: str = "k") -> None:
    """Every chunk and span has the vector that the model gives its text, the audit finds nothing, and nothing is left
    of another model."""
    mine = collection(resources, name)
    assert mine.space.identity == model.identity
    chunks = rows(
        resources,
        "SELECT k.text, e.embedding FROM chunk k LEFT JOIN embedding e ON e.chunk_id = k.id AND e.space_id = %s "
        "WHERE k.collection_id = %s",
        *(mine.space.id, mine.id),
    )
    spans = rows(
        resources,
        "SELECT substring(k.text, s.start_char + 1, s.end_char - s.start_char), e.embedding FROM chunk k "
        "JOIN span s ON s.chunk_id = k.id LEFT JOIN span_embedding e "
        "ON e.chunk_id = s.chunk_id AND e.ordinal = s.ordinal AND e.space_id = %s WHERE k.collection_id = %s",
        *(mine.space.id, mine.id),
    )
    assert chunks
    for found, tolerance in ((chunks, 1e-6), (spans, 1e-3)):
        stored = np.array([vector.to_numpy().astype(np.float32) for _, vector in found])
        assert np.abs(stored - model.embed_questions([text for text, _ in found])).max() < tolerance
    assert broken(resources) == []
    assert rows(resources, "SELECT count(*) FROM embedding WHERE collection_id = %s", mine.id) == [(len(chunks),)]


def partitions(resources: Resources) -> int:
    sql = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'embedding'::regclass"
    return int(rows(resources, sql)[0][0])


def test_a_collection_gets_another_model(own: Resources, old: Hashed, new: Hashed) -> None:
    ids = filled(own)
    store.set_state(ids[3], "disabled", own)
    question = Question(QUESTION, "k", own.ranking_with(top_k=20, collapse_duplicates=False))
    before, fresh = collection(own), search.search(question, own)
    assert changed(own)
    assert_whole(own, new)
    after = collection(own)
    assert (after.revision, after.id) == (before.revision + 1, before.id)
    assert partitions(own) == 1
    found = search.search(question, own)
    assert {hit.chunk_id for hit in found.hits} == {hit.chunk_id for hit in fresh.hits}
    assert [hit.cosine for hit in found.hits] != [hit.cosine for hit in fresh.hits]
    store.set_state(ids[3], "active", own)
    add(own, "later")
    assert_whole(own, new)
    assert not changed(own)
    assert changed(own, target=OLD)
    assert_whole(own, old)
    states = rows(own, "SELECT state, count(*) FROM embedding_space GROUP BY state ORDER BY state")
    assert states == [("active", 1), ("retired", 2)]


def test_vectors_may_have_another_dimension(own: Resources) -> None:
    filled(own)
    short = identity("short", 8)
    assert changed(own, target=short)
    assert_whole(own, Hashed(short))
    assert search.search(Question(QUESTION, "k"), own).hits


def test_the_same_text_is_embedded_once(own: Resources, new: Hashed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "_BATCH_CHUNKS", 2)
    filled(own, 4)
    for n in range(6):
        add(own, f"copy {n}", "The same words stand in each of these.")
    assert changed(own)
    assert max(new.passages.values()) == 1
    assert new.passages["The same words stand in each of these."] == 1
    assert_whole(own, new)


def test_what_is_stopped_goes_on_where_it_was(own: Resources, new: Hashed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "_BATCH_CHUNKS", 2)
    filled(own)
    space = collection(own).space

    def half_way(progress: Progress) -> None:
        assert progress.total == 10
        if progress.done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        changed(own, half_way)
    assert collection(own).space == space
    assert broken(own) == []
    seen: list[int] = []
    assert changed(own, lambda progress: seen.append(progress.done))
    assert seen[0] == 6
    assert [n for text, n in new.passages.items() if text.startswith("document")] == [1] * 10
    assert_whole(own, new)


def test_a_change_to_another_model_is_refused_until_this_one_is_given_up(own: Resources, old: Hashed) -> None:
    filled(own)

    def refuse(_old: Collection, _new: Collection) -> None:
        raise Conflict("worse")

    with pytest.raises(Conflict, match="worse"):
        changed(own, check=refuse)
    assert broken(own) == []
    with pytest.raises(Conflict, match=r"being changed to new of hashed.*--abandon"):
        changed(own, target=identity("third"))
    with pytest.raises(Conflict, match="being changed to new of hashed"):
        changed(own, target=OLD)
    assert reembed.abandon("k", own)
    assert under_way(own) is None
    assert partitions(own) == 1
    assert_whole(own, old)
    assert not reembed.abandon("k", own)
    assert changed(own, target=identity("third"))
    assert_whole(own, Hashed(identity("third")))


def test_what_a_change_left_behind_is_named_and_removed(own: Resources, old: Hashed) -> None:
    filled(own)
    filled(own, 2, "other")
    with pytest.raises(KeyboardInterrupt):
        changed(own, check=stop)
    with own.database.write() as connection:
        connection.execute("DELETE FROM reembedding")
        connection.execute("UPDATE embedding_space SET state = 'active'")
    assert [name for name, *_ in broken(own)] == ["vector-in-other-space"]
    assert not reembed.abandon("k", own)
    assert_whole(own, old)


def test_one_process_at_a_time(own: Resources) -> None:
    filled(own, 1)
    with indexes.session(services.database_url(own.settings)) as session:
        assert reembeddings.claim(session, collection(own).id)
        with pytest.raises(Conflict, match="another process"):
            changed(own)
        with pytest.raises(Conflict, match="another process"):
            reembed.abandon("k", own)
    assert changed(own)


def test_what_changes_meanwhile_is_followed(own: Resources, new: Hashed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "_BATCH_CHUNKS", 2)
    monkeypatch.setattr(reembed, "_FEW_CHUNKS", 1)
    ids = filled(own)
    changes: Iterator[Callable[[], Any]] = iter(
        [
            lambda: store.delete(ids[0], own),
            lambda: store.set_state(ids[1], "disabled", own),
            lambda: add(own, "document 2", "Other words than before."),
            lambda: add(own, "late"),
            lambda: store.delete(ids[9], own),
            lambda: filled(own, 5),
        ]
    )

    def meanwhile(_progress: Progress) -> None:
        if change := next(changes, None):
            change()

    def last(_old: Collection, _new: Collection) -> None:
        add(own, "very late")
        store.delete(ids[5], own)

    assert changed(own, meanwhile, check=last)
    assert next(changes, None) is None
    assert_whole(own, new)


def test_a_writer_with_old_vectors_makes_them_again(
    own: Resources, new: Hashed, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(own, 2)
    prepare = Tokenized.prepare
    switches = iter([NEW])

    def meanwhile(made: Tokenized, *arguments: Any) -> None:
        prepare(made, *arguments)
        for target in switches:
            assert changed(own, target=target)

    monkeypatch.setattr(Tokenized, "prepare", meanwhile)
    add(own, "late")
    assert next(switches, None) is None
    assert "late" in " ".join(new.passages)
    assert_whole(own, new)


def test_a_question_with_an_old_vector_is_embedded_again(own: Resources, old: Hashed, new: Hashed) -> None:
    filled(own)
    question = Question(QUESTION, "k", own.ranking)
    asked = understand(question, collection(own), own)
    assert asked.vector is not None
    assert asked.vector.tolist() == old.embed_questions([QUESTION])[0].tolist()
    assert changed(own)
    found = search.find(asked, own, Timings())
    assert found.asked.collection.space == collection(own).space
    vector = new.embed_questions([QUESTION])[0]
    for hit in found.hits:
        assert hit.cosine == pytest.approx(float(new.embed_questions([hit.text])[0] @ vector), abs=1e-5)


def test_without_the_new_model_a_question_in_between_goes_on_by_bm25(own: Resources) -> None:
    filled(own)
    asked = understand(Question(QUESTION, "k", own.ranking), collection(own), own)
    assert changed(own)
    own.__dict__["backends"] = backends(own.settings, Hashed(OLD), Away(NEW))
    found = search.find(asked, own, Timings())
    assert found.asked.degraded == ("vector",)
    assert found.hits
    assert {hit.cosine for hit in found.hits} == {None}


def test_another_collection_of_the_old_model_keeps_its_vectors(own: Resources, old: Hashed, new: Hashed) -> None:
    made_with_old(own, "other")
    filled(own)
    filled(own, 3, "other")
    assert changed(own)
    assert_whole(own, new)
    assert_whole(own, old, "other")
    assert partitions(own) == 2
    assert reembed.reembed("other", NEW, own, lambda _: None)
    assert_whole(own, new, "other")
    assert partitions(own) == 1


@pytest.mark.parametrize("half", [False, True])
def test_a_large_collection_is_indexed_before_the_switch(own: Resources, new: Hashed, half: bool) -> None:
    filled(own, 12)
    update = {"exact_scan_max": 5, "hnsw_halfvec": half}
    large = replace(own, settings=own.settings.model_copy(update=update))
    large.__dict__["backends"] = own.backends
    phases: list[str] = []
    assert changed(large, lambda progress: phases.append(progress.phase))
    space = collection(own).space
    with own.database.read() as connection:
        assert spaces.partition(connection, space).indexed_type == ("halfvec(64)" if half else "vector(64)")
    assert phases[0] == "embedding"
    assert_whole(own, new)


def test_an_old_question_stays_explained_and_its_lost_vectors_are_said(own: Resources, database_url: str) -> None:
    filled(own)
    asked = str(search.search(Question(QUESTION, "k"), own).query_id)
    assert changed(own)
    verdicts = dict(rows(own, "SELECT score, verdict FROM ragledger_audit.verdict(%s)", asked))
    assert verdicts["cosine"] == verdicts["span_cosine"] == "nothing to compare"
    assert verdicts["bm25"] == verdicts["fused"] == verdicts["score"] == "agrees"
    assert "DIFFERS" not in verdicts.values()
    printed = psql(database_url, "explain.sql", query=asked).stdout
    assert "the collection has another model since" in printed
    assert "cosines of its old vectors cannot be recomputed" in printed
    later = str(search.search(Question(QUESTION, "k"), own).query_id)
    assert set(dict(rows(own, "SELECT score, verdict FROM ragledger_audit.verdict(%s)", later)).values()) == {"agrees"}
    assert "another model" not in psql(database_url, "explain.sql", query=later).stdout


def test_what_an_old_transaction_may_still_read_is_removed_later(
    own: Resources, new: Hashed, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retire, "_WAIT_SECONDS", 0.5)
    filled(own)
    space = collection(own).space
    with psycopg.connect(database_url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM collection")
        assert changed(own)
        sql = "SELECT count(*) FROM embedding WHERE space_id = %s"
        assert reader.execute(sql, (space.id,)).fetchone() == (10,)
        assert [name for name, *_ in broken(own)] == ["retired-space-kept"]
    assert not changed(own)
    assert_whole(own, new)


def test_a_collection_deleted_meanwhile_is_said_so(own: Resources) -> None:
    filled(own)

    def delete(_progress: Progress) -> None:
        with own.database.write(unhurried=True) as connection:
            collections.delete(connection, "k")

    with pytest.raises(CollectionNotFound):
        changed(own, delete)
    made_with_old(own, "k")
    assert not reembed.abandon("k", own)
    assert partitions(own) == 1


def test_without_the_new_model_nothing_begins(own: Resources, old: Hashed) -> None:
    filled(own)
    own.__dict__["backends"] = backends(own.settings, old, Away(NEW))
    with pytest.raises(EmbedderUnavailable):
        changed(own)
    assert under_way(own) is None
    assert partitions(own) == 1


def test_a_chunk_that_the_new_model_cannot_embed_is_named(own: Resources, old: Hashed, new: Hashed) -> None:
    filled(own)
    bad = add(own, "bad", "This one is not finite.")
    own.__dict__["backends"] = backends(own.settings, old, Nan(NEW))
    (chunk_id,) = [row[0] for row in rows(own, "SELECT id FROM chunk WHERE document_id = %s", bad)]
    with pytest.raises(EmbeddingFailed, match=f"chunk {chunk_id}: .*no usable vector"):
        changed(own)
    assert collection(own).space.identity == OLD
    store.delete(bad, own)
    own.__dict__["backends"] = backends(own.settings, old, new)
    assert changed(own)
    assert_whole(own, new)


def test_an_empty_collection_is_switched_at_once(own: Resources) -> None:
    assert changed(own)
    assert collection(own).space.identity == NEW


def test_an_estimate_changes_nothing_and_is_near_what_it_takes(own: Resources) -> None:
    for n in range(60):
        add(own, f"{n}", " ".join(f"Sentence {n} of part {part} about the {WORDS[part % 10]}." for part in range(60)))
    made = estimate.estimate("k", NEW, own)
    assert partitions(own) == 1
    assert under_way(own) is None
    assert (made.chunks, made.spans) == tuple(
        rows(own, "SELECT (SELECT count(*) FROM chunk), (SELECT count(*) FROM span)")[0]
    )
    assert changed(own)
    space = collection(own).space.id
    sql = "SELECT pg_total_relation_size(%s) + pg_total_relation_size(%s)"
    taken = rows(own, sql, f"embedding_s{space}", f"span_embedding_s{space}")[0][0]
    assert made.vector_bytes == pytest.approx(taken, rel=0.4)


def reciprocal_ranks(resources: Resources, questions: Sequence[GoldenQuestion]) -> list[float]:
    """Of each gold document in what a search returns."""
    ranking = resources.ranking_with(top_k=10, collapse_duplicates=False)
    found = [search.search(Question(g.question, "k", ranking), resources).hits for g in questions]
    return [
        next((1 / hit.rank for hit in hits if hit.source == g.gold[0].source), 0.0)
        for g, hits in zip(questions, found, strict=True)
    ]


def test_both_models_are_compared_on_golden_questions(own: Resources) -> None:
    filled(own, 40)
    questions = tuple(
        GoldenQuestion(str(n), " ".join(words), (Gold(f"document {n}"),), None, "en")
        for n, words in enumerate(zip(WORDS, WORDS[3:], strict=False))
    )
    seen: list[Comparison] = []

    def check(before: Collection, after: Collection) -> None:
        seen.append(compare(questions, before, after, own, lambda *_: None))

    before = reciprocal_ranks(own, questions)
    assert changed(own, target=identity("short", 8), check=check)
    after = reciprocal_ranks(own, questions)
    assert before != after
    (made,) = seen
    assert made.questions == len(questions)
    assert made.old["mrr@10"].value == pytest.approx(np.mean(before))
    assert made.new["mrr@10"].value == pytest.approx(np.mean(after))
    assert made.differences["mrr@10"].value == pytest.approx(np.mean(after) - np.mean(before))


def test_a_model_that_ranks_worse_than_asked_for_is_not_switched_to(
    own: Resources, new: Hashed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(own)
    (tmp_path / "g.jsonl").write_text('{"id": "q", "question": "document 1", "gold": [{"source": "document 1"}]}\n')
    assert golden.put(tmp_path / "g.jsonl", "k", own) == (1, 0)
    space = collection(own).space
    with pytest.raises(click.ClickException, match=r"under 1\.5: not switched.*--abandon"):
        changed(own, check=partial(command.check, 1.5, own))
    assert collection(own).space == space
    assert "ndcg@10" in capsys.readouterr().out
    assert changed(own, check=partial(command.check, 0.5, own))
    assert sum(new.passages[text] for text in new.passages if text.startswith("document")) == 10
    assert_whole(own, new)


def test_writers_who_are_as_fast_are_awaited_in_the_end(
    own: Resources, new: Hashed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more chunk for each that is embedded: its rounds find no less, so the rest is embedded while writers wait."""
    monkeypatch.setattr(reembed, "_BATCH_CHUNKS", 1)
    filled(own)
    written = itertools.count()

    def meanwhile(_progress: Progress) -> None:
        if (number := next(written)) < 100:
            add(own, f"document {number} of a busy day")

    assert changed(own, meanwhile)
    assert next(written) < 100
    assert_whole(own, new)


def third_space(resources: Resources) -> Space:
    with resources.database.write(unhurried=True) as connection:
        return spaces.ensure(connection, Space(0, identity("third")))


def test_a_space_is_made_after_the_writers_under_way(own: Resources, database_url: str) -> None:
    """They go on from chunks to vectors; to lock these first would be a deadlock."""
    waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(database_url) as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("SELECT FROM collection FOR KEY SHARE; DELETE FROM chunk WHERE id = 0")
        made = pool.submit(third_space, own)
        assert processes.wait_until(lambda: bool(rows(own, waiting)), 20)
        writer.execute("DELETE FROM embedding WHERE chunk_id = 0")
        writer.commit()
        made.result()
    assert partitions(own) == 2
    assert rows(own, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == [(0,)]


def test_a_space_is_made_while_a_dump_reads_everything(own: Resources, database_url: str) -> None:
    with psycopg.connect(database_url) as reader:
        reader.execute("TABLE collection; TABLE chunk; TABLE embedding")
        third_space(own)
    assert partitions(own) == 2
