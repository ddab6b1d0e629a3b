"""Test sets are read whole, or refused with the file and the line that is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

import app
from app.errors import InvalidInput, UnreadableDocument
from app.evaluate.datasets import read_beir, read_dataset, read_golden
from app.records import Gold

SAMPLES = Path(app.__file__).parent / "samples"

CORPUS = ['{"_id": "p1", "title": "Cats", "text": "Cats purr."}', '{"_id": "p2", "text": "狗会叫。"}']
QUERIES = ['{"_id": "q1", "text": "What purrs?", "answer": "Cats"}', '{"_id": "q2", "text": "谁会叫？"}']
QRELS = ["query-id\tcorpus-id\tscore", "q1\tp1\t2", "q1\tp2\t0", "q2\tp2\t1"]


def write_beir(
    folder: Path,
    *,
    corpus: list[str] = CORPUS,
    queries: list[str] = QUERIES,
    qrels: list[str] = QRELS,
    qrels_name: str = "qrels.tsv",
) -> Path:
    (folder / qrels_name).parent.mkdir(parents=True, exist_ok=True)
    for name, lines in (("corpus.jsonl", corpus), ("queries.jsonl", queries), (qrels_name, qrels)):
        (folder / name).write_bytes(("\n".join(lines) + "\n").encode())
    return folder


def write_golden(folder: Path, rows: list[dict[str, Any]], documents: dict[str, bytes] | None = None) -> Path:
    for name, content in (documents or {"a.md": b"# Cats\n\nCats purr.\n", "b/c.txt": b"Dogs bark.\n"}).items():
        path = folder / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def golden_row(**changes: Any) -> dict[str, Any]:
    gold = [{"source": "a.md", "quote": "Cats purr."}]
    return {"id": "g1", "question": "What purrs?", "gold": gold, "answer": "Cats", **changes}


# --- BEIR ---------------------------------------------------------------------------------------------------------


def test_a_beir_folder_is_read_in_order_with_graded_scores(tmp_path: Path) -> None:
    found = read_beir(write_beir(tmp_path, qrels=[*QRELS[:2], "q1\tp2\t0.5", QRELS[3]]))
    assert found.name == tmp_path.name
    assert [(d.source, d.title, d.text) for d in found.documents] == [
        ("p1", "Cats", "Cats purr."),
        ("p2", "", "狗会叫。"),
    ]
    assert [(q.id, q.gains(), q.answer) for q in found.questions] == [
        ("q1", {"p1": 2.0, "p2": 0.5}, "Cats"),
        ("q2", {"p2": 1.0}, None),
    ]
    assert all(question.answerable for question in found.questions)


def test_judgements_are_found_in_the_qrels_folder_too(tmp_path: Path) -> None:
    assert len(read_beir(write_beir(tmp_path, qrels_name="qrels/test.tsv")).questions) == 2


def test_a_question_without_a_relevant_document_is_left_out_and_counted(tmp_path: Path) -> None:
    found = read_beir(write_beir(tmp_path, qrels=[*QRELS[:3], "q2\tp2\t0"]))
    assert [question.id for question in found.questions] == ["q1"]
    assert found.questions[0].gold == (Gold("p1", 2.0),)
    assert found.left_out == 1


def test_a_document_with_a_title_alone_is_read_as_its_title(tmp_path: Path) -> None:
    found = read_beir(write_beir(tmp_path, corpus=['{"_id": "p1", "title": "Cats", "text": " "}', CORPUS[1]]))
    assert found.documents[0].text == "Cats"


def test_windows_line_ends_blank_lines_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    found = read_beir(
        write_beir(
            tmp_path,
            corpus=["\ufeff" + CORPUS[0] + "\r", "\r", CORPUS[1] + "\r", ""],
            qrels=[f"{line}\r" for line in QRELS],
        )
    )
    assert len(found.documents) == 2


def test_a_line_separator_inside_a_string_does_not_split_the_line(tmp_path: Path) -> None:
    found = read_beir(write_beir(tmp_path, corpus=['{"_id": "p1", "text": "one\u2028two\x85three"}', CORPUS[1]]))
    assert found.documents[0].text == "one\u2028two\x85three"


@pytest.mark.parametrize(
    ("part", "lines", "where", "what"),
    [
        ("corpus", [CORPUS[0], "{oops"], "corpus.jsonl:2", "not JSON"),
        ("corpus", ["[1]"], "corpus.jsonl:1", "not a JSON object"),
        ("corpus", [CORPUS[0], "", CORPUS[0]], "corpus.jsonl:3", "'p1' occurs twice"),
        ("corpus", ['{"text": "no id"}'], "corpus.jsonl:1", "_id must be a string"),
        ("corpus", ['{"_id": 7, "text": "a number"}'], "corpus.jsonl:1", "_id must be a string"),
        ("corpus", ['{"_id": " ", "text": "blank"}'], "corpus.jsonl:1", "_id is empty"),
        ("corpus", ['{"_id": "p1", "text": ["list"]}'], "corpus.jsonl:1", "text must be a string"),
        ("corpus", ['{"_id": "p1", "text": "a\\u0000b"}'], "corpus.jsonl:1", "NUL"),
        ("corpus", ['{"_id": "p1", "text": "a\\ud800b"}'], "corpus.jsonl:1", "surrogate"),
        ("corpus", [""], "corpus.jsonl", "holds no document"),
        ("queries", [""], "queries.jsonl", "holds no question"),
        ("queries", [QUERIES[0], QUERIES[0]], "queries.jsonl:2", "'q1' occurs twice"),
        ("queries", ['{"_id": "q1", "text": ""}'], "queries.jsonl:1", "text is empty"),
        ("queries", ['{"_id": "q1", "text": "x", "answer": 5}'], "queries.jsonl:1", "answer must be a string"),
        ("qrels", QRELS[1:], "qrels.tsv:1", "header"),
        ("qrels", [QRELS[0], "q1\tp1"], "qrels.tsv:2", "3 fields"),
        ("qrels", [QRELS[0], "q1 p1 1"], "qrels.tsv:2", "3 fields"),
        ("qrels", [QRELS[0], "q9\tp1\t1"], "qrels.tsv:2", "'q9' is not in queries.jsonl"),
        ("qrels", [QRELS[0], "q1\tp9\t1"], "qrels.tsv:2", "'p9' is not in corpus.jsonl"),
        ("qrels", [QRELS[0], "q1\tp1\t1", "q1\tp1\t1"], "qrels.tsv:3", "judged twice"),
        ("qrels", [QRELS[0], "q1\tp1\tyes"], "qrels.tsv:2", "not a number"),
        ("qrels", [QRELS[0], "q1\tp1\tnan"], "qrels.tsv:2", "not finite"),
        ("qrels", [QRELS[0], "q1\tp1\t0"], "", "no question has a relevant document"),
    ],
)
def test_a_fault_is_named_with_its_file_and_line(
    tmp_path: Path, part: str, lines: list[str], where: str, what: str
) -> None:
    parts = {"corpus": CORPUS, "queries": QUERIES, "qrels": QRELS, part: lines}
    write_beir(tmp_path, corpus=parts["corpus"], queries=parts["queries"], qrels=parts["qrels"])
    with pytest.raises(InvalidInput) as raised:
        read_beir(tmp_path)
    assert raised.value.field == str(tmp_path / where)
    assert what in raised.value.reason


def test_a_document_without_any_text_is_unreadable(tmp_path: Path) -> None:
    write_beir(tmp_path, corpus=[CORPUS[0], '{"_id": "p2", "text": " \\n"}'])
    with pytest.raises(UnreadableDocument, match=r"corpus\.jsonl:2: document 'p2' has no text"):
        read_beir(tmp_path)


def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path: Path) -> None:
    write_beir(tmp_path)
    (tmp_path / "queries.jsonl").write_bytes(QUERIES[0].encode() + b"\n" + QUERIES[1].encode("gbk") + b"\n")
    with pytest.raises(UnreadableDocument, match=r"queries\.jsonl:2: not UTF-8"):
        read_beir(tmp_path)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write_beir(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InvalidInput, match=name):
        read_beir(tmp_path)


def test_the_digest_changes_with_the_documents_alone(tmp_path: Path) -> None:
    first = read_beir(write_beir(tmp_path / "a"))
    same = read_beir(write_beir(tmp_path / "b"))
    asked = read_beir(write_beir(tmp_path / "c", queries=[QUERIES[0], '{"_id": "q2", "text": "other"}']))
    moved = read_beir(write_beir(tmp_path / "d", corpus=['{"_id": "p1", "text": "CatsCats purr."}', CORPUS[1]]))
    assert (first.sha256, first.questions_sha256) == (same.sha256, same.questions_sha256)
    assert first.sha256 == asked.sha256
    assert first.questions_sha256 != asked.questions_sha256
    assert first.sha256 != moved.sha256


# --- documents with golden questions ------------------------------------------------------------------------------


def test_the_sample_corpus_is_read_with_its_unanswerable_questions() -> None:
    found = read_dataset(SAMPLES)
    assert found.name == "samples"
    assert {document.source.split("/")[0] for document in found.documents} == {"zh", "en"}
    assert {question.answerable for question in found.questions} == {True, False}
    titles = {document.source: document.title for document in found.documents}
    assert titles["zh/error-codes.md"] == "故障代码一览"


def test_a_folder_of_ones_own_is_read_the_same_way(tmp_path: Path) -> None:
    rows = [golden_row(), {"id": "g2", "question": "Who meows?", "answerable": False, "language": "en"}]
    found = read_golden(write_golden(tmp_path, rows))
    assert [(d.source, d.title) for d in found.documents] == [("a.md", "Cats"), ("b/c.txt", "c")]
    assert found.questions[0].gold == (Gold("a.md", 1.0, "Cats purr."),)
    assert [question.language for question in found.questions] == ["und", "en"]
    assert [question.answerable for question in found.questions] == [True, False]


def test_each_golden_passage_of_a_document_counts(tmp_path: Path) -> None:
    gold = [{"source": "a.md", "quote": "Cats"}, {"source": "a.md", "quote": "purr"}]
    found = read_golden(write_golden(tmp_path, [golden_row(gold=gold)]))
    assert found.questions[0].gains() == {"a.md: Cats": 1.0, "a.md: purr": 1.0}


def test_a_quote_over_two_lines_is_found_in_a_file_with_windows_line_ends(tmp_path: Path) -> None:
    row = golden_row(gold=[{"source": "a.md", "quote": "one\ntwo"}])
    found = read_golden(write_golden(tmp_path, [row], {"a.md": b"\xef\xbb\xbf# Title\r\n\r\none\r\ntwo\r\n"}))
    assert (found.documents[0].title, found.documents[0].text) == ("Title", "# Title\n\none\ntwo\n")


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    documents = {"a.md": b"# Cats\n\nCats purr.", ".DS_Store": b"\x00\x01", ".git/x.md": b"x"}
    assert len(read_golden(write_golden(tmp_path, [golden_row()], documents)).documents) == 1


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"id": ""}, "id is empty"),
        ({"id": "码" * 501}, "id has more than 500 characters"),
        ({"question": None}, "question must be a string"),
        ({"answerable": "no"}, "answerable must be true or false"),
        ({"gold": {}}, "gold must be a list"),
        ({"gold": []}, "gold must name a passage exactly where"),
        ({"answerable": False}, "gold must name a passage exactly where"),
        ({"gold": [{"source": "z.md"}]}, "'z.md' is not in the folder"),
        ({"gold": [{"quote": "Cats"}]}, "source must be a string"),
        ({"gold": [{"source": "a.md", "quote": "Cats bark."}]}, "not a piece of 'a.md'"),
    ],
)
def test_a_golden_line_that_contradicts_itself_or_the_documents_is_named(
    tmp_path: Path, changes: dict[str, Any], what: str
) -> None:
    write_golden(tmp_path, [golden_row(id="g0"), golden_row(**changes)])
    with pytest.raises(InvalidInput) as raised:
        read_golden(tmp_path)
    assert raised.value.field == f"{tmp_path / 'golden.jsonl'}:2"
    assert what in raised.value.reason


def test_an_id_that_occurs_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'g1' occurs twice"):
        read_golden(write_golden(tmp_path, [golden_row(), golden_row()]))


def test_a_golden_file_without_a_question_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="holds no question"):
        read_golden(write_golden(tmp_path, []))


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("x.md", b" \n", "holds no text"),
        ("x.md", b"a\nb\x00c", "x.md:2: holds a NUL"),
        ("x.md", "咖啡".encode("gbk"), "x.md:1: not UTF-8"),
        ("x.pdf", b"%PDF-1.7", "only .md"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_not_skipped(
    tmp_path: Path, name: str, content: bytes, what: str
) -> None:
    write_golden(tmp_path, [golden_row()], {"a.md": b"# Cats\n\nCats purr.", name: content})
    with pytest.raises(UnreadableDocument) as raised:
        read_golden(tmp_path)
    assert what in str(raised.value)


def test_documents_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "golden.jsonl").write_text("", "utf-8")
    with pytest.raises(InvalidInput, match="no such folder"):
        read_golden(tmp_path)
    (tmp_path / "documents").mkdir()
    with pytest.raises(InvalidInput, match="holds no document"):
        read_golden(tmp_path)


def test_the_layout_is_told_by_the_files_that_are_there(tmp_path: Path) -> None:
    assert len(read_dataset(write_beir(tmp_path / "beir")).documents) == 2
    with pytest.raises(InvalidInput, match="neither"):
        read_dataset(tmp_path)
