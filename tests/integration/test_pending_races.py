"""What waits for an embedder, and what happens to its source meanwhile: the last word on it holds."""

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from waiting import NEW, OLD, Switch, contents, ingested, retried, source, switch

from app.clients.embedder import Embedder
from app.db import collections, pending
from app.ingest import pipeline, store
from app.ingest.retry import retry
from app.query import pipeline as search
from app.records import Question
from app.resources import Resources
from tests.embedders import Away, Watched, put


@pytest.fixture
def embedder_here(resources: Resources, embedder: Embedder) -> Switch:
    """Takes the embedder away, and brings it back."""
    return switch(resources, embedder)


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
    assert retried(resources) == {}
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
