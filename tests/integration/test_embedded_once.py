"""What the embedder is asked: each text once, several small documents at a time."""

from pathlib import Path

import numpy as np

from app.clients.embedder import Embedder
from app.db import collections, documents, vectors
from app.ingest import pipeline
from app.ingest.discover import discover
from app.records import Source
from app.resources import Resources
from tests.embedders import Watched, put

PARAGRAPH = (
    "The copper kettle holds 12 litres, and heats in nine minutes. It must be rinsed with citric acid each month."
)


def opened(resources: Resources, embedder: Embedder) -> Watched:
    """An embedder that is watched, of a collection k that is there."""
    pipeline.open_collection("k", resources)
    watched = Watched(embedder)
    put(resources, watched)
    return watched


def test_a_text_that_a_document_repeats_is_embedded_once(resources: Resources, embedder: Embedder) -> None:
    watched = opened(resources, embedder)
    sections = "\n\n".join(f"# Part {n}\n\n{PARAGRAPH}\n\n" + f"Number {n}. " * 120 for n in range(4))
    pipeline.ingest(Source("a.md", "A", "text/markdown", sections), "k", resources)
    assert watched.calls == 1
    assert len(watched.asked) == len(set(watched.asked))
    with resources.database.read() as connection:
        rows = connection.execute(
            "SELECT text FROM chunk UNION SELECT substring(text, s.start_char + 1, s.end_char - s.start_char)"
            " FROM span s JOIN chunk ON chunk.id = s.chunk_id"
        ).fetchall()
    assert set(watched.asked) == {row[0] for row in rows}


def test_a_chunk_that_another_document_has_is_not_embedded_again(resources: Resources, embedder: Embedder) -> None:
    watched = opened(resources, embedder)
    pipeline.ingest(Source("a.txt", "A", "text/plain", PARAGRAPH), "k", resources)
    watched.asked.clear()
    again = pipeline.ingest(Source("b.txt", "B", "text/plain", PARAGRAPH), "k", resources)
    assert (again.outcome, again.chunks_reused, watched.asked) == ("added", 1, [])


def test_a_chunk_that_another_collection_of_the_space_has_is_not_embedded_again(
    resources: Resources, embedder: Embedder
) -> None:
    watched = opened(resources, embedder)
    pipeline.ingest(Source("a.md", "A", "text/markdown", PARAGRAPH), "k", resources)
    pipeline.open_collection("other", resources)
    watched.asked.clear()
    again = pipeline.ingest(Source("b.md", "B", "text/markdown", PARAGRAPH), "other", resources)
    assert watched.asked == []
    assert (again.outcome, again.chunks_reused) == ("added", 0)  # what another collection holds is not told
    with resources.database.read() as connection:
        for table in ("embedding", "span_embedding"):
            rows = connection.execute(
                f"SELECT count(DISTINCT collection_id), count(DISTINCT embedding::text) * 2 = count(*) FROM {table}"  # noqa: S608
            ).fetchone()
            assert rows == (2, True)


def test_no_vector_is_taken_from_another_space(resources: Resources, embedder: Embedder) -> None:
    watched = opened(resources, embedder)
    pipeline.ingest(Source("a.md", "A", "text/markdown", PARAGRAPH), "k", resources)
    with resources.database.write() as connection:
        connection.execute("UPDATE embedding_space SET model = 'another of as many dimensions'")
    pipeline.open_collection("other", resources)
    watched.asked.clear()
    pipeline.ingest(Source("b.md", "B", "text/markdown", PARAGRAPH), "other", resources)
    assert PARAGRAPH in watched.asked


def test_small_files_are_embedded_together_and_have_the_vectors_of_each_alone(
    resources: Resources, embedder: Embedder, tmp_path: Path
) -> None:
    watched = opened(resources, embedder)
    texts = {f"{n:02}.txt": f"Kettle number {n} holds {n + 3} litres." for n in range(30)}
    texts |= {"again.txt": texts["00.txt"]}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    outcomes = list(pipeline.ingest_files(list(discover([tmp_path])), "k", resources))
    assert [(outcome.source, outcome.outcome) for outcome in outcomes] == [(name, "added") for name in sorted(texts)]
    assert watched.calls == 1
    assert sorted(watched.asked) == sorted(set(texts.values()))
    with resources.database.read() as connection:
        collection = collections.get(connection, "k")
        for outcome in outcomes:
            [chunk_id] = documents.chunk_ids(connection, collection.id, outcome.document_id or 0)
            [stored] = vectors.of_chunks(connection, collection, [chunk_id]).values()
            assert np.allclose(stored, embedder.embed_passages([texts[outcome.source]])[0], atol=1e-6)


def test_each_file_of_a_group_is_stored_by_itself(resources: Resources, embedder: Embedder, tmp_path: Path) -> None:
    """Who stops after some outcomes finds these documents, and no more."""
    opened(resources, embedder)
    for n in range(5):
        (tmp_path / f"{n}.txt").write_text(f"Kettle number {n}.")
    outcomes = pipeline.ingest_files(list(discover([tmp_path])), "k", resources)
    seen = [next(outcomes).source for _ in range(2)]
    with resources.database.read() as connection:
        page = documents.listed(connection, collections.get(connection, "k").id, after=0, limit=10)
    assert [document.source for document in page] == seen == ["0.txt", "1.txt"]
