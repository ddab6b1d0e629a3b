"""Documents that no embedder answered for: kept, embedded later, never half found, never brought back from the dead."""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from app.clients.embedder import Embedder
from app.db import collections, pending
from app.errors import CollectionNotFound, NotFound
from app.ingest import load, pipeline, store
from app.ingest.retrier import Retrier
from app.ingest.retry import retry
from app.query import pipeline as search
from app.records import Ingested, PendingDocument, Question, Source, Vectors
from app.resources import Resources
from tests.embedders import Away, Watched, put

OLD = "The copper kettle holds 12 litres."
NEW = "The steel kettle holds 30 litres."


@pytest.fixture
def embedder_here(resources: Resources, embedder: Embedder) -> Callable[[bool], None]:
    """Takes the embedder away, and brings it back."""
    backends = resources.backends

    def here(answers: bool) -> None:
        if answers:
            vars(resources)["backends"] = backends
        else:
            put(resources, Away(embedder.identity))

    return here


Switch = Callable[[bool], None]


def source(text: str, name: str = "kettle.txt", **metadata: Any) -> Source:
    return Source(name, name, "text/plain", text, metadata)


def ingested(resources: Resources, text: str, name: str = "kettle.txt") -> Ingested:
    return pipeline.ingest(source(text, name), "k", resources)


def retried(resources: Resources, **how: Any) -> dict[str, str]:
    return {outcome.source: outcome.outcome for outcome in retry("k", resources, **how)}


def waiting(resources: Resources) -> list[PendingDocument]:
    with resources.database.read() as connection:
        return pending.listed(connection, collections.get(connection, "k").id, after=0, limit=500)


def found(resources: Resources, question: str = "kettle litres") -> list[str]:
    return [hit.text for hit in search.search(Question(question, "k"), resources).hits]


def contents(resources: Resources, table: str) -> dict[str, str]:
    with resources.database.read() as connection:
        return dict(connection.execute(f"SELECT source, content FROM {table}").fetchall())  # noqa: S608


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


# --- what happens while a retry is under way ------------------------------------------------------------------------


def delete(resources: Resources) -> None:
    with resources.database.read() as connection:
        row = connection.execute("SELECT id FROM document WHERE source = 'kettle.txt'").fetchone()
    assert row
    store.delete(row[0], resources)


def withdraw(resources: Resources) -> None:
    with resources.database.write() as connection:
        connection.execute("DELETE FROM pending_document")


def wait_again(resources: Resources, text: str) -> None:
    watched = vars(resources)["backends"]
    put(resources, Away(resources.embedder.identity))
    assert ingested(resources, text).outcome == "pending"
    vars(resources)["backends"] = watched


@pytest.mark.parametrize("stored", [True, False], ids=["an update", "a first version"])
@pytest.mark.parametrize(
    ("meanwhile", "gets_through", "document", "still_waits"),
    [
        pytest.param(withdraw, False, None, None, id="withdrawn"),
        pytest.param(lambda r: wait_again(r, "Newest."), False, None, "Newest.", id="a newer version waits"),
        pytest.param(lambda r: wait_again(r, NEW), True, NEW, None, id="the same waits again"),
        pytest.param(lambda r: ingested(r, "Newest."), False, "Newest.", None, id="a newer version is stored"),
        pytest.param(lambda r: ingested(r, NEW), False, NEW, None, id="the same is stored"),
    ],
)
def test_what_happens_while_it_is_embedded_is_newer(
    resources: Resources,
    embedder: Embedder,
    embedder_here: Switch,
    stored: bool,
    meanwhile: Callable[[Resources], object],
    gets_through: bool,
    document: str | None,
    still_waits: str | None,
) -> None:
    if stored:
        ingested(resources, OLD)
    else:
        pipeline.open_collection("k", resources)
    embedder_here(False)
    ingested(resources, NEW)
    watched = Watched(embedder, meanwhile=[lambda: meanwhile(resources)])
    put(resources, watched)
    assert bool(retried(resources)) == gets_through
    assert watched.meanwhile == []
    expected = document or (OLD if stored else None)
    assert contents(resources, "document") == ({"kettle.txt": expected} if expected else {})
    assert contents(resources, "pending_document") == ({"kettle.txt": still_waits} if still_waits else {})


def test_a_source_that_goes_back_while_its_new_version_is_embedded_stays_as_it_is(
    resources: Resources, embedder: Embedder, embedder_here: Switch
) -> None:
    ingested(resources, OLD)
    embedder_here(False)
    ingested(resources, NEW)
    put(resources, Watched(embedder, meanwhile=[lambda: ingested(resources, OLD)]))
    assert retried(resources) == {}
    assert contents(resources, "document") == {"kettle.txt": OLD}


def test_a_version_that_came_while_an_equal_one_was_found_stored_is_kept(
    resources: Resources, embedder_here: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waited is stored already by then; a newer one must not go with it."""
    ingested(resources, OLD)
    embedder_here(False)
    ingested(resources, NEW)
    embedder_here(True)
    with resources.database.write() as connection:  # as it is after the restore of an older backup
        connection.execute(
            "UPDATE pending_document p SET content = d.content FROM document d WHERE d.source = p.source"
        )
    take = pending.take

    def late(*arguments: Any) -> bool:
        wait_again(resources, "Newest.")
        return take(*arguments)

    monkeypatch.setattr(pending, "take", late)
    retried(resources)
    assert contents(resources, "pending_document") == {"kettle.txt": "Newest."}


def test_a_document_deleted_while_its_new_version_is_embedded_stays_deleted(
    resources: Resources, embedder: Embedder, embedder_here: Switch
) -> None:
    ingested(resources, OLD)
    embedder_here(False)
    ingested(resources, NEW)
    put(resources, Watched(embedder, meanwhile=[lambda: delete(resources)]))
    assert retried(resources) == {}
    assert contents(resources, "document") == contents(resources, "pending_document") == {}


def test_a_collection_deleted_while_its_document_is_embedded_stays_deleted(
    resources: Resources, embedder: Embedder, embedder_here: Switch
) -> None:
    pipeline.open_collection("k", resources)
    embedder_here(False)
    ingested(resources, NEW)

    def delete_collection() -> None:
        with resources.database.write() as connection:
            collections.delete(connection, "k")
        pipeline.open_collection("k", resources)

    put(resources, Watched(embedder, meanwhile=[delete_collection]))
    with pytest.raises(CollectionNotFound):
        retried(resources)
    assert contents(resources, "document") == contents(resources, "pending_document") == {}


def test_a_retry_that_is_killed_before_its_commit_leaves_the_document_waiting(
    resources: Resources, embedder_here: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder_here(False)
    ingested(resources, NEW)
    embedder_here(True)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(collections, "bump", killed)
        with pytest.raises(KeyboardInterrupt):
            retried(resources)
    assert contents(resources, "document") == {}
    assert retried(resources) == {"kettle.txt": "added"}


def test_workers_at_once_embed_each_document_once(
    resources: Resources, embedder: Embedder, embedder_here: Switch
) -> None:
    names = [f"{n}.txt" for n in range(8)]
    pipeline.open_collection("k", resources)
    embedder_here(False)
    for name in names:
        ingested(resources, f"Fact {name} about kettles.", name)
    watched = Watched(embedder)
    put(resources, watched)
    outcomes = at_once(4, resources)
    assert sorted(outcomes) == [(name, "added") for name in names]
    assert sorted(watched.asked) == [f"Fact {name} about kettles." for name in names]


def test_workers_that_both_embedded_a_document_store_it_once(
    resources: Resources, embedder_here: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a lock is lost with its connection."""
    names = [f"{n}.txt" for n in range(6)]
    embedder_here(False)
    for name in names:
        ingested(resources, f"Fact {name} about kettles.", name)
    embedder_here(True)
    monkeypatch.setattr(pending, "claim", lambda *_: True)
    assert sorted(at_once(3, resources)) == [(name, "added") for name in names]
    with resources.database.read() as connection:
        assert connection.execute("SELECT DISTINCT version FROM document").fetchall() == [(1,)]


def at_once(workers: int, resources: Resources) -> list[tuple[str, str]]:
    """What all of several workers report."""
    outcomes: list[tuple[str, str]] = []
    failures: list[Exception] = []
    start = threading.Barrier(workers)

    def work() -> None:
        start.wait()
        try:
            outcomes.extend((outcome.source, outcome.outcome) for outcome in retry("k", resources))
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return outcomes


# --- documents that fail ---------------------------------------------------------------------------------------------


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
    files = list(load.discover([tmp_path]))
    ingested(resources, "Known already.", "other.txt")
    pipeline.ingest(load.read(tmp_path / "a.txt", "a.txt", 100), "k", resources)
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


# --- the service's thread --------------------------------------------------------------------------------------------


def test_the_service_embeds_what_waits_when_the_embedder_is_back(resources: Resources, embedder_here: Switch) -> None:
    embedder_here(False)
    ingested(resources, NEW)
    retrier = Retrier(resources, least_seconds=0.05, most_seconds=0.2)
    retrier.start()
    try:
        wait_until(lambda: waiting(resources)[0].attempts > 2)
        embedder_here(True)
        wait_until(lambda: found(resources) == [NEW])
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


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


# --- any order of events ---------------------------------------------------------------------------------------------


@dataclass
class Model:
    """What should be stored and what should wait, by source."""

    stored: dict[str, str] = field(default_factory=dict)
    waits: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, text: str, *, here: bool) -> None:
        if here or self.stored.get(name) == text:
            self.stored[name] = text
            self.waits.pop(name, None)
        else:
            self.waits[name] = text


NUMBER = itertools.count()
NAMES = st.sampled_from(["a.txt", "b.txt"])
EVENT = st.one_of(
    st.tuples(st.sampled_from(["put", "put away"]), NAMES, st.sampled_from(["One.", "Two.", "Three."])),
    st.tuples(st.sampled_from(["delete", "retry", "retry away"]), NAMES, st.just("")),
)


@given(events=st.lists(EVENT, min_size=1, max_size=10))
@examples(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_after_any_order_of_events_the_last_word_on_each_source_holds(
    resources: Resources, embedder_here: Switch, events: list[tuple[str, str, str]]
) -> None:
    name, model = f"example {next(NUMBER)}", Model()
    pipeline.open_collection(name, resources)
    ids: dict[str, int] = {}
    for what, document, text in events:
        here = not what.endswith("away")
        embedder_here(here)
        if what.startswith("put"):
            outcome = pipeline.ingest(source(text, document), name, resources)
            ids |= {document: outcome.document_id} if outcome.document_id else {}
            model.put(document, text, here=here)
        elif what == "delete" and document in model.stored:
            store.delete(ids[document], resources)
            model.stored.pop(document)
            model.waits.pop(document, None)
        elif what.startswith("retry"):
            ids |= {o.source: o.document_id for o in retry(name, resources) if o.document_id}
            if here:
                model.stored |= model.waits
                model.waits = {}
        for table, expected in (("document", model.stored), ("pending_document", model.waits)):
            with resources.database.read() as connection:
                rows = connection.execute(
                    f"SELECT source, content FROM {table}"  # noqa: S608
                    " WHERE collection_id = (SELECT id FROM collection WHERE name = %s)",
                    (name,),
                )
                assert dict(rows.fetchall()) == expected
    embedder_here(True)
    hits = search.search(Question("One. Two. Three.", name), resources).hits
    assert {hit.text for hit in hits} == set(model.stored.values())
