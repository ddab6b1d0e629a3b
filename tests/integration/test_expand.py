"""Hits that grow to passages, and near duplicates that take no place, over real documents."""

from collections.abc import Sequence
from typing import Any

import pytest

from app.db import collections, windows
from app.ingest import pipeline as ingest
from app.lexical.lengths import CHARS_PER_TOKEN_MAX
from app.query import expand
from app.query.pipeline import answer, search
from app.records import Hit, Picked, Question, Ranking, SearchResult, Source
from app.resources import Resources

KETTLE = "The copper kettle holds 12 litres. It heats in nine minutes. The lid is made of oak and has a brass knob."
LONG = " ".join(f"Sentence about the valve and its seal, part {chr(97 + n)}." for n in range(18))
MANUAL = "# Manual\n\nAll about machines.\n\n" + "\n\n".join(
    f"## Part {name}\n\n"
    + "\n\n".join(f"The {name} needs {what}. " + f"Look after the {name} every day, please. " * 20 for what in needs)
    for name, needs in {
        "grinder": ("oil", "soft brushes", "a dry place"),
        "磨豆机": ("清洁", "润滑油"),
        "roaster": ("air", "a chimney"),
    }.items()
)


def put(resources: Resources, **texts: str) -> None:
    for name, text in texts.items():
        ingest.ingest(Source(name, name, "text/markdown", text), "k", resources)


def ask(resources: Resources, text: str, **ranking: Any) -> SearchResult:
    return search(Question(text, "k", Ranking(**ranking)), resources)


def rows(resources: Resources, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with resources.database.read() as connection:
        return connection.execute(statement.encode(), values).fetchall()


def sources(hits: Sequence[Hit]) -> list[str]:
    return [hit.source for hit in hits]


# --- passages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1, 300, 700, 2_000, 8_000])
def test_a_passage_is_exactly_what_stands_in_the_document(resources: Resources, budget: int) -> None:
    put(resources, manual=MANUAL, kettle=KETTLE)
    result = ask(resources, "What does the grinder need?", expand_tokens=budget)
    contents = {row[0]: row[1] for row in rows(resources, "SELECT id, content FROM document")}
    assert result.hits
    for hit in result.hits:
        assert hit.passage is not None
        assert hit.passage.text == contents[hit.document_id][hit.passage.start_char : hit.passage.end_char]
        assert hit.text in hit.passage.text
        assert hit.passage.tokens <= budget or hit.passage.chunk_ids == (hit.chunk_id,)
        assert hit.text == contents[hit.document_id][hit.start_char : hit.end_char]
    every = [chunk_id for hit in result.hits if hit.passage for chunk_id in hit.passage.chunk_ids]
    assert len(every) == len(set(every))


def test_a_whole_document_within_the_budget_is_one_passage(resources: Resources) -> None:
    put(resources, manual=MANUAL, kettle=KETTLE)
    apart = ask(resources, "What does the grinder need?")
    assert sources(apart.hits).count("manual") > 2
    assert all(hit.passage is None for hit in apart.hits)
    result = ask(resources, "What does the grinder need?", expand_tokens=8_000)
    assert sorted(sources(result.hits)) == ["kettle", "manual"]
    assert [hit.rank for hit in result.hits] == [1, 2]
    [manual] = [hit for hit in result.hits if hit.source == "manual"]
    assert manual.chunk_id == apart.hits[0].chunk_id
    assert manual.passage
    assert manual.passage.text == MANUAL.strip()


def test_the_window_that_is_read_holds_all_that_a_passage_could_grow_to(resources: Resources) -> None:
    put(resources, manual=MANUAL)
    question = Question("oil for the 磨豆机", "k", Ranking(top_k=3))
    found = search(question, resources)
    ids = [hit.chunk_id for hit in found.hits]
    with resources.database.read() as snapshot:
        collection = collections.get(snapshot, "k")
        whole = windows.around(snapshot, collection.id, ids, 1e6)
        for budget in (100, 400, 1_000):
            near = windows.around(snapshot, collection.id, ids, budget * CHARS_PER_TOKEN_MAX)
            picked = Picked(found.hits)
            assert expand.passages(picked, near, budget) == expand.passages(picked, whole, budget)
    assert {window.text for window in whole.values()} == {MANUAL}


def test_the_ledger_says_which_passage_was_returned_and_what_it_holds(resources: Resources) -> None:
    put(resources, manual=MANUAL, kettle=KETTLE)
    result = ask(resources, "What does the grinder need?", expand_tokens=1_000)
    kept = rows(
        resources,
        "SELECT chunk_id, picked, collapsed_into, resemblance, passage_start_char, passage_end_char"
        " FROM query_hit WHERE query_id = %s",
        result.query_id,
    )
    passages = {hit.chunk_id: hit.passage for hit in result.hits if hit.passage}
    part_of = {i: into for into, passage in passages.items() for i in passage.chunk_ids if i != into}
    assert any(part_of)
    for chunk_id, picked, collapsed_into, resemblance, start, end in kept:
        assert (picked, collapsed_into, resemblance) == (chunk_id in passages, part_of.get(chunk_id), None)
        passage = passages.get(chunk_id)
        assert (start, end) == ((passage.start_char, passage.end_char) if passage else (None, None))


def test_an_answer_quotes_the_same_from_passages_as_from_chunks(resources: Resources) -> None:
    put(resources, manual=MANUAL, kettle=KETTLE)
    question = "How many litres does the copper kettle hold?"
    plain = answer(Question(question, "k", use_cache=False), resources)
    grown = answer(Question(question, "k", Ranking(expand_tokens=2_000), use_cache=False), resources)
    assert plain.source == "corpus"
    assert (grown.text, grown.citations) == (plain.text, plain.citations)
    assert all(hit.passage for hit in grown.hits)


# --- near duplicates ----------------------------------------------------------------------------------------------


def test_an_equal_text_is_listed_with_the_hit_and_is_none_itself(resources: Resources) -> None:
    put(resources, kettle=KETTLE, copy=KETTLE, valve=LONG)
    result = ask(resources, "How much does the copper kettle hold?")
    assert sources(result.hits) == ["kettle", "valve"]
    [also] = result.hits[0].also_found_in
    assert (also.source, also.rank, also.resemblance) == ("copy", 2, 1.0)
    assert KETTLE[also.start_char : also.end_char] == result.hits[0].text
    kept = rows(
        resources,
        "SELECT source, picked, collapsed_into, resemblance FROM query_hit WHERE query_id = %s ORDER BY rank",
        result.query_id,
    )
    assert kept[:2] == [("kettle", True, None, None), ("copy", False, result.hits[0].chunk_id, 1.0)]


def test_a_text_with_a_few_other_words_is_a_near_duplicate(resources: Resources) -> None:
    put(resources, valve=LONG, edition=LONG.replace("valve and its seal, part m", "valve and the seal, part m"))
    [hit] = ask(resources, "valve").hits
    assert [0.9 <= also.resemblance < 1 for also in hit.also_found_in] == [True]


def test_texts_with_other_numbers_or_other_words_of_the_question_stay_apart(resources: Resources) -> None:
    letter = "The {} office opens at {} and closes late. " + LONG
    put(resources, berlin=letter.format("Berlin", 9), munich=letter.format("Munich", 9), bonn=letter.format("Bonn", 8))
    assert set(sources(ask(resources, "When does the office open?").hits)) == {"berlin", "bonn"}
    assert set(sources(ask(resources, "Does the Munich office open before Berlin?").hits)) == {
        *("berlin", "munich", "bonn"),
    }


def test_duplicates_are_kept_where_the_caller_says_so(resources: Resources) -> None:
    put(resources, kettle=KETTLE, copy=KETTLE)
    result = ask(resources, "copper kettle", collapse_duplicates=False)
    assert sorted(sources(result.hits)) == ["copy", "kettle"]
    assert all(hit.also_found_in == () for hit in result.hits)


def test_any_number_of_duplicates_leaves_top_k_hits_where_there_are_as_many(resources: Resources) -> None:
    put(resources, **{f"copy{n}": KETTLE for n in range(50)})
    put(resources, one="A copper pan.", two="An iron kettle.", three="A kettle of fish.")
    result = ask(resources, "The copper kettle holds 12 litres", top_k=4)
    assert len(set(sources(result.hits)) - {f"copy{n}" for n in range(50)}) == 3
    assert len(result.hits) == 4
    assert [hit.rank for hit in result.hits] == [1, 2, 3, 4]
    assert max(len(hit.also_found_in) for hit in result.hits) == 49


def test_duplicates_take_no_place_among_an_answers_sources(resources: Resources) -> None:
    put(resources, **{f"copy{n}": KETTLE for n in range(5)})
    put(resources, pan="The copper pan holds two litres.")
    made = answer(Question("How many litres does the copper kettle hold?", "k", use_cache=False), resources)
    assert made.source == "corpus"
    assert sorted(sources(made.hits)) == ["copy0", "pan"]
    quotes = [citation.quote for citation in made.citations]
    assert len(quotes) == len(set(quotes))


def test_the_same_sentence_is_not_quoted_twice_from_two_chunks(resources: Resources) -> None:
    fact = "The copper kettle of the old kitchen holds exactly twelve litres of water."
    put(resources, one=f"{fact} The pan is iron.", two=f"Bread is baked at noon. {fact} Dinner is at eight.")
    made = answer(Question("How many litres of water does the copper kettle hold?", "k", use_cache=False), resources)
    assert made.source == "corpus"
    assert sum("exactly twelve" in citation.quote for citation in made.citations) == 1
