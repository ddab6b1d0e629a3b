"""Documents that no embedder answered for: kept, embedded later, and never half found."""

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from waiting import NEW, OLD, Switch, contents, found, ingested, retried, source, switch, waiting

from app.clients.embedder import Embedder
from app.db import collections, pending
from app.errors import CollectionNotFound, NotFound
from app.ingest import load, pipeline, store
from app.ingest.discover import discover
from app.ingest.retrier import Retrier
from app.records import Vectors
from app.resources import Resources
from app.services import processes
from tests.embedders import Away, Watched, put


@pytest.fixture
def embedder_here(resources: Resources, embedder: Embedder) -> Switch:
    """Takes the embedder away, and brings it back."""
    return switch(resources, embedder)


def test_the_first_document_of_a_collection_waits_for_an_embedder(resources: Resources, embedder_here: Switch) -> None:
    embedder_here(False)
    outcome = ingested(resources, NEW)
    assert (outcome.outcome, outcome.document_id) == ("pending", None)
    assert "secret-host" in outcome.reason  # for the operator
    assert found(resources) == []
    assert contents(resources, "document") == {}
    assert retried(resources) == {"kettle.txt": "pending"}
    assert [w.attempts for w in waiting(resources)] == [2]
    embedder_here(True)
    assert retried(resources) == {"kettle.txt": "added"}
    assert (found(resources), waiting(resources)) == ([NEW], [])
    assert pipeline.open_collection("k", resources).space.fingerprint is not None
    assert retried(resources) == {}


def test_until_the_new_version_is_embedded_the_old_one_is_found_whole(
    resources: Resources, embedder_here: Switch
) -> None:
    first = ingested(resources, OLD)
    embedder_here(False)
    assert ingested(resources, NEW).outcome == "pending"
    assert found(resources) == [OLD]
    embedder_here(True)
    assert found(resources) == [OLD]
    assert retried(resources) == {"kettle.txt": "updated"}
    assert found(resources) == [NEW]
    again = ingested(resources, NEW)
    assert (again.outcome, again.document_id, again.version) == ("unchanged", first.document_id, 2)


def test_what_came_with_a_document_comes_back_with_it(resources: Resources, embedder_here: Switch) -> None:
    odd = source(NEW, "odd.md", large=1e308, nested={"键": [1, 2.0, None]})
    embedder_here(False)
    pipeline.ingest(odd, "k", resources)
    embedder_here(True)
    assert retried(resources) == {"odd.md": "added"}
    assert pipeline.ingest(odd, "k", resources).outcome == "unchanged"


def test_a_document_that_waited_knows_its_pages(resources: Resources, embedder_here: Switch) -> None:
    embedder_here(False)
    paged = replace(source(NEW, "m.pdf"), media_type="application/pdf", pages=(0, 3))
    pipeline.ingest(paged, "k", resources)
    embedder_here(True)
    assert retried(resources) == {"m.pdf": "added"}
    with resources.database.read() as connection:
        assert connection.execute("SELECT DISTINCT page FROM chunk ORDER BY 1 LIMIT 1").fetchall() == [(1,)]


def test_of_two_versions_the_newer_one_waits(resources: Resources, embedder_here: Switch) -> None:
    embedder_here(False)
    for text in (OLD, NEW, NEW):
        assert ingested(resources, text).outcome == "pending"
    assert [(w.source, w.attempts, w.error) for w in waiting(resources)] == [("kettle.txt", 2, "EmbedderUnavailable")]
    embedder_here(True)
    retried(resources)
    assert contents(resources, "document") == {"kettle.txt": NEW}


def test_a_source_that_goes_back_to_what_is_stored_waits_no_more(resources: Resources, embedder_here: Switch) -> None:
    ingested(resources, OLD)
    embedder_here(False)
    ingested(resources, NEW)
    assert ingested(resources, OLD).outcome == "unchanged"
    assert waiting(resources) == []


def test_a_version_that_is_stored_ends_the_waiting_of_an_older_one(resources: Resources, embedder_here: Switch) -> None:
    embedder_here(False)
    ingested(resources, OLD)
    embedder_here(True)
    assert ingested(resources, NEW).outcome == "added"
    assert retried(resources) == {}
    assert contents(resources, "document") == {"kettle.txt": NEW}


def test_a_deleted_document_is_not_brought_back(resources: Resources, embedder_here: Switch) -> None:
    first = ingested(resources, OLD)
    ingested(resources, OLD, "other.txt")
    embedder_here(False)
    ingested(resources, NEW)
    ingested(resources, NEW, "third.txt")
    assert first.document_id
    store.delete(first.document_id, resources)
    embedder_here(True)
    assert retried(resources) == {"third.txt": "added"}
    assert contents(resources, "document") == {"other.txt": OLD, "third.txt": NEW}


def test_a_deleted_collection_takes_what_waits_with_it(resources: Resources, embedder_here: Switch) -> None:
    embedder_here(False)
    ingested(resources, NEW)
    with resources.database.write() as connection:
        collections.delete(connection, "k")
    with pytest.raises(CollectionNotFound):
        retried(resources)
    assert contents(resources, "pending_document") == {}


def test_a_document_that_waits_can_be_withdrawn(resources: Resources, embedder_here: Switch) -> None:
    embedder_here(False)
    ingested(resources, NEW)
    [kept] = waiting(resources)
    with resources.database.write() as connection:
        pending.withdraw(connection, collections.get(connection, "k").id, kept.id)
    with pytest.raises(NotFound), resources.database.write() as connection:
        pending.withdraw(connection, collections.get(connection, "k").id, kept.id)
    assert retried(resources) == {}


def test_a_disabled_document_stays_so_when_its_new_version_is_stored(
    resources: Resources, embedder_here: Switch
) -> None:
    first = ingested(resources, OLD)
    embedder_here(False)
    ingested(resources, NEW)
    assert first.document_id
    store.set_state(first.document_id, "disabled", resources)
    embedder_here(True)
    assert retried(resources) == {"kettle.txt": "updated"}
    assert found(resources) == []
    store.set_state(first.document_id, "active", resources)
    assert found(resources) == [NEW]


def test_a_document_without_usable_vectors_is_kept_with_its_reason_and_keeps_none_waiting(
    resources: Resources, embedder: Embedder, embedder_here: Switch
) -> None:
    pipeline.open_collection("k", resources)
    embedder_here(False)
    for name in ("a.txt", "b.txt", "c.txt"):
        ingested(resources, f"{name} is about kettles.", name)
    watched = Watched(embedder, refused="a.txt")
    put(resources, watched)
    assert retried(resources) == {"a.txt": "failed", "b.txt": "added", "c.txt": "added"}
    [kept] = waiting(resources)
    assert (kept.source, kept.error, kept.attempts) == ("a.txt", "EmbeddingFailed", 2)
    assert "no usable vector" in kept.reason
    assert retried(resources, every=False) == {}  # it is left alone for an hour
    watched.refused = "\0"
    assert retried(resources) == {"a.txt": "added"}


def test_a_document_that_an_embedder_never_answers_for_keeps_none_waiting_for_long(
    resources: Resources, embedder: Embedder, embedder_here: Switch
) -> None:
    pipeline.open_collection("k", resources)
    embedder_here(False)
    for name in ("a.txt", "b.txt", "c.txt"):
        ingested(resources, f"{name} is about kettles.", name)

    class Choking(Watched):
        def embed_passages(self, texts: Any) -> Vectors:
            if any("a.txt" in text for text in texts):
                return Away(self.identity).embed_passages(texts)
            return super().embed_passages(texts)

    put(resources, Choking(embedder))
    assert retried(resources) == {"a.txt": "pending"}
    assert retried(resources) == {"b.txt": "added", "c.txt": "added", "a.txt": "pending"}


def test_files_are_reported_in_order_whatever_becomes_of_each(
    resources: Resources, embedder: Embedder, embedder_here: Switch, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("Known already.")
    (tmp_path / "b.txt").write_bytes(b"a\0b")
    (tmp_path / "c.txt").write_text("A text that is refused.")
    (tmp_path / "d.txt").write_text("A new one.")
    files = list(discover([tmp_path]))
    ingested(resources, "Known already.", "other.txt")
    pipeline.ingest(load.from_bytes("a.txt", (tmp_path / "a.txt").read_bytes(), 100), "k", resources)
    put(resources, Watched(embedder, refused="refused"))

    def outcomes() -> list[str]:
        return [outcome.outcome for outcome in pipeline.ingest_files(files, "k", resources)]

    assert outcomes() == ["unchanged", "failed", "failed", "added"]
    (tmp_path / "d.txt").write_text("Another one.")
    embedder_here(False)
    assert outcomes() == ["unchanged", "failed", "pending", "pending"]
    embedder_here(True)
    assert outcomes() == ["unchanged", "failed", "added", "updated"]
    assert waiting(resources) == []


def test_the_service_embeds_what_waits_when_the_embedder_is_back(resources: Resources, embedder_here: Switch) -> None:
    embedder_here(False)
    ingested(resources, NEW)
    retrier = Retrier(resources, least_seconds=0.05, most_seconds=0.2)
    retrier.start()
    try:
        assert processes.wait_until(lambda: waiting(resources)[0].attempts > 2, 20)
        embedder_here(True)
        assert processes.wait_until(lambda: found(resources) == [NEW], 20)
    finally:
        retrier.stop()
    assert waiting(resources) == []


def test_an_embedder_that_hangs_does_not_keep_the_service_from_ending(
    resources: Resources, embedder: Embedder, embedder_here: Switch
) -> None:
    pipeline.open_collection("k", resources)
    embedder_here(False)
    ingested(resources, NEW)
    asked, release = threading.Event(), threading.Event()

    def hang() -> None:
        asked.set()
        release.wait(30)

    put(resources, Watched(embedder, meanwhile=[hang]))
    retrier = Retrier(resources, least_seconds=0.01)
    retrier.start()
    assert asked.wait(10)
    started = time.monotonic()
    retrier.stop()
    assert time.monotonic() - started < 5
    assert [w.source for w in waiting(resources)] == ["kettle.txt"]
    release.set()
