"""Answers: curated pairs, then the cache, then the corpus, else a refusal; never stale, never without its source."""

import socket
import time
from collections.abc import Iterator

import pytest
import redis

from app.clients.cache import Cache
from app.db import documents
from app.errors import CacheUnavailable, Conflict, InvalidInput, NotFound
from app.ingest import pipeline as ingest
from app.ingest import store
from app.query import cache, pipeline, qa
from app.records import Answer, Question, Source
from app.resources import Resources

KETTLE = "The copper kettle holds 12 litres. It heats in nine minutes. The lid is made of oak."
LEAVE = "Employees have 25 days of leave a year. Five days may be carried over. Unpaid leave needs a consent."


@pytest.fixture
def filled(resources: Resources) -> Resources:
    for name, text in {"kettle.md": KETTLE, "leave.md": LEAVE}.items():
        ingest.ingest(Source(name, name, "text/plain", text), "k", resources)
    return resources


def ask(resources: Resources, text: str, **options: bool) -> Answer:
    return pipeline.answer(Question(text, "k", **options), resources)  # type: ignore[arg-type]


def source_id(resources: Resources, name: str) -> int:
    hits = pipeline.search(Question(name, "k"), resources).hits
    return next(hit.document_id for hit in hits if hit.source == name)


def test_an_answer_quotes_its_document_to_the_letter(filled: Resources) -> None:
    answer = ask(filled, "How many litres does the copper kettle hold?")
    assert answer.source == "corpus"
    assert "12 litres" in answer.text
    assert answer.citations[0].number == 1
    for citation in answer.citations:
        content = {"kettle.md": KETTLE, "leave.md": LEAVE}[citation.source]
        assert content[citation.start_char : citation.end_char] == citation.quote
        assert f"[{citation.number}]" in answer.text


def test_a_question_that_the_corpus_does_not_answer_is_refused_in_its_language(filled: Resources) -> None:
    english = ask(filled, "Who won the chess championship in 1987?")
    chinese = ask(filled, "一九八七年的围棋冠军是谁？")
    assert (english.source, chinese.source) == ("refusal", "refusal")
    assert english.text.startswith("The knowledge base has no answer")
    assert chinese.text.startswith("知识库中没有")
    assert english.citations == chinese.citations == ()


def test_a_heading_alone_is_no_answer(resources: Resources) -> None:
    sentence = "Turn the brass valve under the sink to the left until it clicks, then wait for one full minute. "
    text = (
        "# How do I open the brass valve under the sink?\n\n"
        + sentence
        + "Then "
        + "open the tap slowly, " * 12
        + "please."
    )
    ingest.ingest(Source("valve.md", "valve", "text/markdown", text), "k", resources)
    answer = ask(resources, "How do I open the brass valve under the sink?")
    assert answer.source == "corpus"
    assert "to the left" in answer.text
    assert not answer.text.startswith("#")


def test_a_curated_pair_answers_its_question_however_it_is_written(filled: Resources) -> None:
    qa.add("k", "如何聲明路徑參數？", "用大括号。", filled)
    for text in ("如何声明路径参数", " 如何聲明路徑參數 ？", "如何声明路径参数?"):
        answer = ask(filled, text)
        assert (answer.source, answer.text) == ("qa", "用大括号。")
    assert ask(filled, "用大括号。").source != "qa"


def test_a_deleted_or_disabled_pair_is_no_hit(filled: Resources) -> None:
    pair = qa.add("k", "What is the lid made of?", "Oak, says the curator.", filled)
    assert ask(filled, "what is the lid made of").source == "qa"
    qa.change(pair.id, filled, question=None, answer=None, state="disabled")
    assert ask(filled, "what is the lid made of").source != "qa"
    qa.change(pair.id, filled, question=None, answer="Beech.", state="active")
    assert ask(filled, "what is the lid made of").text == "Beech."
    qa.delete(pair.id, filled)
    assert ask(filled, "what is the lid made of").source != "qa"
    with pytest.raises(NotFound):
        qa.delete(pair.id, filled)


def test_two_pairs_of_one_question_are_a_conflict(filled: Resources) -> None:
    qa.add("k", "What is IT?", "A department.", filled)
    with pytest.raises(Conflict):
        qa.add("k", "what is it", "A pronoun.", filled)


@pytest.mark.parametrize(
    ("question", "answer", "field"),
    [("", "a", "question"), ("？！", "a", "question"), ("q", " ", "answer"), ("q", "a\0", "answer")],
)
def test_a_pair_without_words_is_refused(filled: Resources, question: str, answer: str, field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        qa.add("k", question, answer, filled)


def test_the_second_time_an_answer_comes_from_the_cache(filled: Resources) -> None:
    first = ask(filled, "How long does the kettle need to heat?")
    second = ask(filled, "how long does the kettle need to heat")
    assert (first.cached, second.cached) == (False, True)
    assert (second.text, second.citations, second.hits) == (first.text, first.citations, first.hits)
    assert second.query_id != first.query_id
    assert not ask(filled, "How long does the kettle need to heat?", use_cache=False).cached


def test_a_cached_answer_of_a_deleted_document_is_never_served(filled: Resources) -> None:
    before = ask(filled, "How many litres does the copper kettle hold?")
    store.delete(source_id(filled, "kettle.md"), filled)
    after = ask(filled, "How many litres does the copper kettle hold?")
    assert "12 litres" in before.text
    assert not after.cached
    assert all(hit.source != "kettle.md" for hit in after.hits)
    assert "12 litres" not in after.text


def test_any_change_of_the_collection_makes_its_cached_answers_unreachable(filled: Resources) -> None:
    question = "How many litres does the copper kettle hold?"
    ask(filled, question)
    ingest.ingest(Source("new.md", "new", "text/plain", "A new note."), "k", filled)
    assert not ask(filled, question).cached
    store.set_state(source_id(filled, "new.md"), "disabled", filled)
    assert not ask(filled, question).cached
    assert ask(filled, question).cached


def test_another_collection_never_gets_this_ones_answer(filled: Resources) -> None:
    question = "How many litres does the copper kettle hold?"
    ask(filled, question)
    ingest.ingest(Source("kettle.md", "other", "text/plain", "The copper kettle holds 99 litres."), "other", filled)
    answer = pipeline.answer(Question(question, "other"), filled)
    assert not answer.cached
    assert "99 litres" in answer.text


def test_garbage_in_the_cache_counts_as_absent(filled: Resources) -> None:
    question = Question("How many litres does the copper kettle hold?", "k")
    ask(filled, question.text)
    collection = ingest.open_collection("k", filled)
    for garbage in (b"", b"{", b"null", b'{"text": 1}', b"\xff\xfe"):
        filled.cache.write(cache.key(question, collection, collection.revision, filled), garbage, seconds=60)
        answer = pipeline.answer(question, filled)
        assert "12 litres" in answer.text
        assert not answer.cached


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield listener.getsockname()[1]


def test_without_redis_the_answer_comes_uncached_and_says_so(filled: Resources, silent_port: int) -> None:
    for url in (None, "redis://127.0.0.1:1/0", f"redis://127.0.0.1:{silent_port}/0"):
        away = Cache(url, timeout_seconds=0.05)
        broken = Resources(filled.settings, filled.database, away, filled.segments)
        broken.__dict__["backends"] = filled.backends
        for _ in range(2):
            answer = ask(broken, "How many litres does the copper kettle hold?")
            assert "12 litres" in answer.text
            assert answer.degraded == ("cache",)
        with pytest.raises(CacheUnavailable):
            away.ping()


def test_a_redis_that_hangs_costs_one_timeout_and_not_one_for_each_question(silent_port: int) -> None:
    hanging = Cache(f"redis://127.0.0.1:{silent_port}/0", timeout_seconds=0.2)
    started = time.perf_counter()
    for _ in range(50):
        with pytest.raises(CacheUnavailable):
            hanging.read("key")
    assert time.perf_counter() - started < 2
    hanging.close()


def test_what_is_cached_has_an_end(filled: Resources, servers: object) -> None:
    ask(filled, "How many litres does the copper kettle hold?")
    client = redis.Redis.from_url(servers.redis_url)  # type: ignore[attr-defined]
    lives = [client.ttl(key) for key in client.scan_iter("ragledger:answer:*")]
    client.close()
    assert lives
    assert all(0 < life <= filled.settings.answer_cache_seconds for life in lives)


def test_every_answer_is_in_the_ledger_with_its_reason(filled: Resources) -> None:
    qa.add("k", "What is the lid made of?", "Oak.", filled)
    questions = ("What is the lid made of?", "How many days of leave?", "How many days of leave?")
    made = [ask(filled, text) for text in questions]
    with filled.database.read() as connection:
        rows = {
            row[0]: row[1:]
            for row in connection.execute("SELECT id, source, reason, answer, citations FROM query_log").fetchall()
        }
        cited = connection.execute(
            "SELECT chunk_id FROM query_hit WHERE query_id = %s AND cited", (made[1].query_id,)
        ).fetchall()
    assert "curated pair" in rows[made[0].query_id][1]
    assert "answered" in rows[made[1].query_id][1]
    assert str(made[1].query_id) in rows[made[2].query_id][1]
    assert all(rows[answer.query_id][2] == answer.text for answer in made)
    assert {row[0] for row in cited} == {citation.chunk_id for citation in made[1].citations}
    assert [c["quote"] for c in rows[made[1].query_id][3]] == [c.quote for c in made[1].citations]


def test_a_chunk_knows_its_document(filled: Resources) -> None:
    with filled.database.read() as connection:
        document = documents.get(connection, source_id(filled, "kettle.md"))
    assert (document.source, document.collection, document.characters) == ("kettle.md", "k", len(KETTLE))
