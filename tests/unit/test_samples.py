"""The sample corpus says what its golden questions claim."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import app

SAMPLES = Path(app.__file__).parent / "samples"
DOCUMENTS = {
    path.relative_to(SAMPLES / "documents").as_posix(): path for path in sorted((SAMPLES / "documents").rglob("*.md"))
}


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / name).read_text("utf-8").splitlines()]


GOLDEN = lines_of("golden.jsonl")
ANSWERABLE = [row for row in GOLDEN if row["answerable"]]
UNANSWERABLE = [row for row in GOLDEN if not row["answerable"]]


def test_every_quote_is_a_piece_of_its_document_found_once() -> None:
    for row in ANSWERABLE:
        for gold in row["gold"]:
            content = DOCUMENTS[gold["source"]].read_text("utf-8")
            assert content.count(gold["quote"]) == 1, row["id"]


def test_every_answer_stands_in_the_first_quote() -> None:
    for row in ANSWERABLE:
        assert row["answer"], row["id"]
        assert row["answer"] in row["gold"][0]["quote"], row["id"]


def test_every_line_has_the_same_keys_and_ids_are_unique() -> None:
    assert {tuple(sorted(row)) for row in GOLDEN} == {("answer", "answerable", "gold", "id", "language", "question")}
    assert len({row["id"] for row in GOLDEN}) == len(GOLDEN)
    assert len({row["question"] for row in GOLDEN}) == len(GOLDEN)


def test_there_are_enough_questions_to_tell_rankings_apart() -> None:
    languages = Counter(row["language"] for row in ANSWERABLE)
    assert len(ANSWERABLE) >= 44
    assert languages["zh"] >= 15
    assert languages["en"] >= 15
    assert languages["zh-Hant"] >= 3
    assert set(languages) == {"zh", "en", "zh-Hant"}


def test_some_questions_are_in_another_language_than_their_document() -> None:
    across = [row for row in ANSWERABLE if not row["gold"][0]["source"].startswith(row["language"][:2] + "/")]
    assert len(across) >= 6
    assert {row["language"][:2] for row in across} == {"zh", "en"}


def test_unanswerable_questions_exist_and_claim_no_passage() -> None:
    assert len(UNANSWERABLE) >= 10
    assert all(row["gold"] == [] and row["answer"] is None for row in UNANSWERABLE)
    assert {row["language"][:2] for row in UNANSWERABLE} == {"zh", "en"}


def test_every_document_answers_a_question() -> None:
    assert {gold["source"] for row in ANSWERABLE for gold in row["gold"]} == set(DOCUMENTS)


def test_every_file_is_utf8_without_nul_or_byte_order_mark() -> None:
    for path in (path for path in SAMPLES.rglob("*") if path.is_file()):
        text = path.read_bytes().decode("utf-8")
        assert "\x00" not in text, path
        assert not text.startswith("\ufeff"), path


def test_every_document_begins_with_its_title() -> None:
    assert all(path.read_text("utf-8").startswith("# ") for path in DOCUMENTS.values())


def test_the_documents_are_data_and_no_package() -> None:
    assert not list(SAMPLES.rglob("*.py"))


def test_curated_pairs_and_demo_lines_are_complete() -> None:
    pairs = lines_of("qa_pairs.jsonl")
    assert len(pairs) == 4
    assert all(set(pair) == {"question", "answer"} and all(pair.values()) for pair in pairs)
    demo = json.loads((SAMPLES / "demo.json").read_text("utf-8"))
    for part in ("searches", "questions"):
        assert [line["language"] for line in demo[part]] == ["zh", "en", "zh-en"]
        assert all(line["text"] for line in demo[part])
