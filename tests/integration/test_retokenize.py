"""An index made anew with other words: beside the old one, seen whole or not at all, whatever happens meanwhile."""

import itertools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from audited import broken

from app.db import collections, lexicon, postings
from app.errors import CollectionNotFound, InvalidInput, NotFound
from app.ingest import lexicon as words
from app.ingest import pipeline, retokenize, store
from app.ingest.retokenizer import Retokenizer
from app.ingest.tokenized import Tokenized
from app.lexical.tokens import TOKENIZER, tokenizer
from app.query import pipeline as search
from app.query.timing import Timings
from app.query.understand import understand
from app.records import NO_WORDS, Question, Source, WordList
from app.resources import Resources
from app.settings import ROOT

PRODUCT = "黛峰烘豆机"


def add(resources: Resources, name: str, text: str = "", collection: str = "k") -> int:
    content = text or f"第{name}台{PRODUCT}每小时可烘二公斤。The roaster number {name} of the company."
    outcome = pipeline.ingest(Source(name, name, "text/plain", content), collection, resources)
    assert outcome.document_id is not None
    return outcome.document_id


def filled(resources: Resources, documents: int = 6) -> int:
    """A collection with some documents; returns its id."""
    for n in range(documents):
        add(resources, f"{n}")
    return pipeline.open_collection("k", resources).id


def scores(resources: Resources, question: str, collection: str = "k") -> dict[str, float]:
    """BM25 by source, and the tokens that the question gave."""
    asked = Question(question, collection, resources.ranking_with(top_k=100))
    return {hit.source: round(hit.bm25, 9) for hit in search.search(asked, resources).hits}


def in_effect(resources: Resources) -> WordList:
    with resources.database.read() as connection:
        return collections.get(connection, "k").words


def tokenizers(resources: Resources) -> set[str]:
    with resources.database.read() as connection:
        return {s.tokenizer for s in postings.segments(connection, collections.get(connection, "k").id)}


def assert_like_a_fresh_index(resources: Resources, *questions: str) -> None:
    """The same documents in a new collection, which has the words of all from its first document on."""
    with resources.database.read() as connection:
        rows = connection.execute(
            "SELECT d.source, d.content, d.state FROM document d JOIN collection c ON c.id = d.collection_id "
            "WHERE c.name = 'k' ORDER BY d.id"
        ).fetchall()
    for source, content, state in rows:
        document_id = add(resources, source, content, "fresh")
        if state == "disabled":
            store.set_state(document_id, "disabled", resources)
    for question in (PRODUCT, "company roaster number", *questions):
        assert scores(resources, question) == scores(resources, question, "fresh")
    assert broken(resources) == []


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new segment for every two documents, and no chunk that is left to the time under the lock."""
    monkeypatch.setattr(retokenize, "_SEGMENT_CHARS", 100)
    monkeypatch.setattr(retokenize, "_READ_CHUNKS", 2)
    monkeypatch.setattr(retokenize, "_FEW_CHUNKS", 1)


def test_words_show_when_the_index_is_made_anew_and_not_before(resources: Resources) -> None:
    collection_id = filled(resources)
    before = scores(resources, PRODUCT)
    revision = pipeline.open_collection("k", resources).revision
    assert words.add("user_word", ["黛峯烘豆機"], None, resources) == [PRODUCT]
    assert words.pending(resources) == ["k"]
    assert scores(resources, PRODUCT) == before
    assert retokenize.retokenize(collection_id, resources)
    assert words.pending(resources) == []
    assert scores(resources, PRODUCT) != before
    assert pipeline.open_collection("k", resources).revision == revision + 1
    assert_like_a_fresh_index(resources)
    assert not retokenize.retokenize(collection_id, resources)
    words.remove("user_word", [PRODUCT], None, resources)
    assert retokenize.retokenize(collection_id, resources)
    assert scores(resources, PRODUCT) == before
    assert in_effect(resources) == NO_WORDS
    assert tokenizers(resources) == {TOKENIZER}


def test_a_stop_word_is_left_out_on_both_sides(resources: Resources) -> None:
    collection_id = filled(resources)
    words.add("stopword", ["Company", "的"], "k", resources)
    retokenize.retokenize(collection_id, resources)
    result = search.search(Question("company", "k"), resources)
    assert all(hit.bm25 == 0 for hit in result.hits)
    with resources.database.read() as connection:
        logged = connection.execute(
            "SELECT tokenizer, tokens FROM query_log WHERE id = %s", (result.query_id,)
        ).fetchone()
        indexed = connection.execute(
            "SELECT count(*) FROM lexical_posting p JOIN lexical_segment s ON s.id = p.segment_id "
            "WHERE NOT s.retired AND p.term IN ('company', 'compani', '的')"
        ).fetchone()
    assert logged == (tokenizer(in_effect(resources)), [])
    assert indexed == (0,)


def test_words_of_one_collection_are_not_those_of_another(resources: Resources) -> None:
    collection_id = filled(resources, 2)
    add(resources, "other", collection="other")
    words.add("user_word", [PRODUCT], "k", resources)
    assert words.pending(resources) == ["k"]
    retokenize.retokenize(collection_id, resources)
    with resources.database.read() as connection:
        assert collections.get(connection, "k").words.user_words == (PRODUCT,)
        assert collections.get(connection, "other").words == NO_WORDS


def test_a_new_collection_has_the_words_of_all_from_the_start(resources: Resources) -> None:
    words.add("user_word", [PRODUCT], None, resources)
    filled(resources, 1)
    assert in_effect(resources).user_words == (PRODUCT,)
    assert words.pending(resources) == []


def test_the_digest_is_the_same_wherever_it_is_computed(resources: Resources) -> None:
    collection_id = filled(resources, 1)
    words.add("user_word", [PRODUCT, "a,b", 'a"b', "a b", "ä{"], "k", resources)
    words.add("stopword", ["的", "the"], None, resources)
    words.add("user_word", [PRODUCT], None, resources)
    with resources.database.read() as connection:
        wanted = lexicon.wanted(connection, collection_id)
        (state,) = lexicon.states(connection)
    assert state.wanted == wanted.sha256
    assert len(wanted.user_words) == 5


@pytest.mark.parametrize(
    ("kind", "term", "said"),
    [
        ("user_word", " ", "no letter or digit"),
        ("user_word", "——", "no letter or digit"),
        ("user_word", "#标签", "begins with #"),
        ("user_word", "长" * 65, "longer than 64"),
        ("user_word", "a\0b", "NUL"),
        ("user_word", "a\ud800", "surrogate"),
        ("stopword", "two words", "not one word"),
        ("stopword", PRODUCT, "not one word"),
    ],
)
def test_what_cannot_be_a_word_is_refused_by_name(resources: Resources, kind: Any, term: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        words.add(kind, ["fine", term], None, resources)
    with resources.database.read() as connection:
        assert lexicon.listed(connection, None, after=0, limit=10) == []


def test_what_cannot_be_a_word_is_not_there_to_be_removed(resources: Resources) -> None:
    assert words.remove("user_word", ["a\ud800", " ", "长" * 100], None, resources) == []


def test_too_many_words_are_refused(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "WORDS_MAX", 3)
    words.add("user_word", ["a", "b", "c"], None, resources)
    assert words.add("user_word", ["a"], None, resources) == []
    with pytest.raises(InvalidInput, match="more than 3"):
        words.add("user_word", ["d"], None, resources)


def test_an_unknown_collection_or_word_is_not_found(resources: Resources) -> None:
    with pytest.raises(CollectionNotFound):
        words.add("user_word", ["a"], "nobody", resources)
    with pytest.raises(NotFound, match="17"):
        words.remove_entry(17, resources)


@pytest.mark.usefixtures("small_batches")
def test_what_changes_meanwhile_is_carried_over(resources: Resources) -> None:
    collection_id = filled(resources, 8)
    ids = [add(resources, f"extra {n}") for n in range(4)]
    store.set_state(ids[3], "disabled", resources)
    words.add("user_word", [PRODUCT], None, resources)
    changes: Iterator[Callable[[], Any]] = iter(
        [
            lambda: store.delete(ids[0], resources),
            lambda: store.set_state(ids[1], "disabled", resources),
            lambda: add(resources, "0", f"New text of the {PRODUCT}."),
            lambda: add(resources, "late"),
            lambda: store.set_state(ids[3], "active", resources),
            lambda: (store.set_state(ids[2], "disabled", resources), store.set_state(ids[2], "active", resources)),
        ]
    )

    def meanwhile(_done: int, _known: int) -> None:
        if change := next(changes, None):
            change()

    retokenize.retokenize(collection_id, resources, meanwhile)
    assert next(changes, None) is None
    assert_like_a_fresh_index(resources, "new text", "late")
    assert tokenizers(resources) == {tokenizer(in_effect(resources))}


@pytest.mark.parametrize("writer", ["add", "enable"])
def test_a_writer_with_the_old_words_makes_its_tokens_again(
    resources: Resources, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    collection_id = filled(resources, 2)
    disabled = add(resources, "disabled")
    store.set_state(disabled, "disabled", resources)
    prepare = Tokenized.prepare
    switches = iter([PRODUCT])

    def meanwhile(made: Tokenized, texts: Any, own: WordList) -> None:
        prepare(made, texts, own)
        for word in switches:
            words.add("user_word", [word], None, resources)
            retokenize.retokenize(collection_id, resources)

    with monkeypatch.context() as patched:
        patched.setattr(Tokenized, "prepare", meanwhile)
        if writer == "add":
            add(resources, "late")
        else:
            store.set_state(disabled, "active", resources)
    assert next(switches, None) is None
    assert tokenizers(resources) == {tokenizer(in_effect(resources))}
    assert_like_a_fresh_index(resources)


@pytest.mark.usefixtures("small_batches")
def test_the_second_of_two_waits_and_finds_nothing_to_do(resources: Resources) -> None:
    collection_id = filled(resources)
    words.add("user_word", [PRODUCT], None, resources)
    with ThreadPoolExecutor(2) as pool:
        slow = lambda _done, _known: time.sleep(0.05)  # noqa: E731
        both = [pool.submit(retokenize.retokenize, collection_id, resources, slow) for _ in range(2)]
        assert sorted(each.result() for each in both) == [False, True]
    assert broken(resources) == []


def test_it_waits_for_a_compaction(resources: Resources) -> None:
    collection_id = filled(resources)
    words.add("user_word", [PRODUCT], None, resources)
    with ThreadPoolExecutor(1) as pool:
        with resources.database.write() as connection:
            assert postings.claim_compaction(connection, collection_id)
            waiting = pool.submit(retokenize.retokenize, collection_id, resources)
            time.sleep(0.3)
            assert not waiting.done()
        assert waiting.result(30)


@pytest.mark.usefixtures("small_batches")
def test_what_is_stopped_on_the_way_leaves_no_trace(resources: Resources) -> None:
    collection_id = filled(resources)
    before = scores(resources, PRODUCT)
    words.add("user_word", [PRODUCT], None, resources)

    def stop(done: int, _known: int) -> None:
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retokenize.retokenize(collection_id, resources, stop)
    assert scores(resources, PRODUCT) == before
    assert words.pending(resources) == ["k"]
    assert broken(resources) == []
    assert retokenize.retokenize(collection_id, resources)
    assert_like_a_fresh_index(resources)


def test_a_collection_deleted_meanwhile_is_said_so(resources: Resources) -> None:
    collection_id = filled(resources, 1)
    with resources.database.write(unhurried=True) as connection:
        collections.delete(connection, "k")
    with pytest.raises(CollectionNotFound):
        retokenize.retokenize(collection_id, resources)


def test_an_empty_collection_takes_the_words_too(resources: Resources) -> None:
    collection = pipeline.open_collection("k", resources)
    words.add("user_word", [PRODUCT], None, resources)
    assert retokenize.retokenize(collection.id, resources)
    assert words.pending(resources) == []


KILLED = """
import sys, time
from app.clients.cache import Cache
from app.db.pool import Database
from app.db.segment_cache import SegmentCache
from app.ingest import retokenize
from app.resources import Resources
from app.settings import Settings

def progress(done, known):
    print(done, known, flush=True)
    if done >= 4:
        time.sleep(60)

retokenize._SEGMENT_CHARS, retokenize._READ_CHUNKS, retokenize._FEW_CHUNKS = 100, 2, 1
database = Database(sys.argv[1], max_connections=2, timeout_seconds=20)
resources = Resources(Settings(_env_file=None), database, Cache(None, timeout_seconds=1), SegmentCache(0))
retokenize.retokenize(int(sys.argv[2]), resources, progress)
"""


def test_a_process_killed_on_the_way_leaves_no_trace(resources: Resources, database_url: str) -> None:
    collection_id = filled(resources)
    before = scores(resources, PRODUCT)
    words.add("user_word", [PRODUCT], None, resources)
    command = [sys.executable, "-c", KILLED, database_url, str(collection_id)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT) as process:  # noqa: S603
        assert process.stdout
        assert [process.stdout.readline() for _ in range(2)] == ["2 6\n", "4 6\n"]
        process.send_signal(signal.SIGKILL)
    assert scores(resources, PRODUCT) == before
    assert words.pending(resources) == ["k"]
    assert broken(resources) == []
    assert retokenize.retokenize(collection_id, resources)
    assert_like_a_fresh_index(resources)


def test_the_services_thread_brings_old_tokenizers_up_to_date_and_ends(resources: Resources) -> None:
    filled(resources)
    before = scores(resources, PRODUCT)
    with resources.database.write() as connection:
        connection.execute("UPDATE lexical_segment SET tokenizer = 'ragledger-1 jieba-0.42.1'")
    thread = Retokenizer(resources)
    thread.wake()
    thread.wake()
    ended(thread)
    assert tokenizers(resources) == {TOKENIZER}
    assert scores(resources, PRODUCT) == before
    words.add("user_word", [PRODUCT], None, resources)
    thread.wake()
    ended(thread)
    assert words.pending(resources) == []
    thread.stop()
    words.remove("user_word", [PRODUCT], None, resources)
    thread.wake()
    ended(thread)
    assert words.pending(resources) == ["k"]


@pytest.mark.usefixtures("small_batches")
def test_the_services_thread_stops_between_two_batches(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(resources, 12)
    words.add("user_word", [PRODUCT], None, resources)
    begun = threading.Event()
    write = postings.add

    def slow(*arguments: Any) -> int:
        begun.set()
        time.sleep(0.2)
        return write(*arguments)

    monkeypatch.setattr(postings, "add", slow)
    thread = Retokenizer(resources)
    thread.wake()
    assert begun.wait(20)
    thread.stop()
    assert not any(t.name == "retokenizer" for t in threading.enumerate())
    assert words.pending(resources) == ["k"]
    assert broken(resources) == []


def ended(thread: Retokenizer) -> None:
    deadline = time.monotonic() + 30
    while thread.busy and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not thread.busy


@contextmanager
def at_work(*works: Callable[[int], None]) -> Iterator[list[object]]:
    """Run each again and again in a thread of its own. Yields what failed; the first failure ends them all."""
    stop = threading.Event()
    failures: list[object] = []

    def run(number: int, work: Callable[[int], None]) -> None:
        while not stop.is_set():
            try:
                work(number)
            except Exception as e:
                failures.append(e)
                stop.set()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    try:
        yield failures
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.usefixtures("small_batches")
def test_readers_see_old_or_new_words_whole_while_writers_work(resources: Resources) -> None:
    """Every document has the product's name, so that its count is that of its first two characters, or it is none."""
    filled(resources, 12)
    collection = pipeline.open_collection("k", resources)
    turns = itertools.count()
    seen: set[bool] = set()

    def write(number: int) -> None:
        turn = next(turns)
        document_id = add(resources, f"w{number}", f"{PRODUCT}在第{number}车间第{turn}次启动。")
        if turn % 3 == 0:
            store.set_state(document_id, "disabled", resources)
            store.set_state(document_id, "active", resources)
        elif turn % 3 == 1:
            store.delete(document_id, resources)

    def read(_number: int) -> None:
        asked = understand(Question(PRODUCT, "k", resources.ranking), collection, resources)
        statistics = search.find(asked, resources, Timings()).candidates.recalled.statistics
        df = {term.term: term.df for term in statistics.terms}
        assert {df["#黛峰"], df.get(PRODUCT, statistics.live_chunks)} == {statistics.live_chunks}
        seen.add(PRODUCT in df)

    deadline = time.monotonic() + 10
    with at_work(*[write] * 4, *[read] * 4) as failures:
        for turn in itertools.count():
            (words.remove if turn % 2 else words.add)("user_word", [PRODUCT], None, resources)
            assert retokenize.retokenize(collection.id, resources)
            if failures or (turn % 2 == 0 and time.monotonic() > deadline):
                break
    assert failures == []
    assert seen == {True, False}
    assert tokenizers(resources) == {tokenizer(in_effect(resources))}
    assert_like_a_fresh_index(resources, "车间 启动")
    with resources.database.read() as connection:
        sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert connection.execute(sql).fetchone() == (0,)
