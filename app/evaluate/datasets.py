"""Test sets as they lie on disk: BEIR folders, and folders of documents with golden questions. Reading only.

What is wrong with a set is said with its file and line, before anything is ingested. Text that is not UTF-8 or is
empty raises UnreadableDocument, everything else InvalidInput. (Over 300 lines: two layouts, one way of checking lines.)
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import InvalidInput, UnreadableDocument
from app.records import Gold, GoldenQuestion

TEXT_SUFFIXES = (".md", ".markdown", ".txt")
QRELS_NAMES = ("qrels.tsv", "qrels/test.tsv")
QRELS_HEADER = ["query-id", "corpus-id", "score"]
ID_CHARS = 500  # an indexed value of PostgreSQL has at most 2,704 bytes
UNKNOWN_LANGUAGE = "und"  # BCP 47
_TITLE = re.compile(r"\s*# +(.+)")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class DatasetDocument:
    """One document: `source` is its id in the set, and its name once ingested."""

    source: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """`sha256` covers the documents in order, `questions_sha256` the questions: a changed question needs no new ingest.

    `left_out` counts questions without a relevant document, which a ranking cannot be measured by.
    """

    name: str
    documents: tuple[DatasetDocument, ...]
    questions: tuple[GoldenQuestion, ...]
    sha256: str
    questions_sha256: str
    left_out: int = 0


def read_dataset(folder: Path) -> Dataset:
    """Read a folder in either layout: the one with `golden.jsonl`, or BEIR with `corpus.jsonl`."""
    if (folder / "golden.jsonl").is_file():
        return read_golden(folder)
    if (folder / "corpus.jsonl").is_file():
        return read_beir(folder)
    raise InvalidInput(str(folder), "holds neither golden.jsonl nor corpus.jsonl")


def read_beir(folder: Path) -> Dataset:
    """Read `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` (or `qrels/test.tsv`), as BEIR lays them out.

    BEIR's queries span all splits and its qrels only one, so a query without a judgement above 0 is normal: it is left
    out and counted. A document with a title alone is read as that title. An optional `answer` and `language` are kept.
    """
    documents = {document.source: document for document in _beir_documents(folder / "corpus.jsonl")}
    queries = {row["_id"]: row for row in _beir_queries(folder / "queries.jsonl")}
    judged = _read_qrels(_qrels_path(folder), queries.keys(), documents.keys())
    questions = [
        GoldenQuestion(key, row["text"], gold, row.get("answer") or None, row.get("language") or UNKNOWN_LANGUAGE)
        for key, row in queries.items()
        if (gold := tuple(Gold(source, gain) for source, gain in judged.get(key, {}).items() if gain > 0))
    ]
    if not questions:
        raise InvalidInput(str(folder), "no question has a relevant document")
    return _dataset(folder, documents.values(), questions, left_out=len(queries) - len(questions))


def read_golden(folder: Path) -> Dataset:
    """Read `documents/**` (Markdown and plain text) and `golden.jsonl`, as `app/samples` lays them out.

    Unanswerable questions are kept, with `answerable` false. A quote must be an exact piece of its document, where
    line ends count as one line feed. Hidden files are passed over; a file of another type is an error, not a gap.
    """
    documents = {document.source: document for document in _golden_documents(folder / "documents")}
    questions = read_golden_questions(folder / "golden.jsonl")
    for where, question in questions.items():
        for gold in question.gold:
            _check(gold, documents, where)
    return _dataset(folder, documents.values(), questions.values())


def read_golden_questions(path: Path) -> dict[str, GoldenQuestion]:
    """Read a `golden.jsonl` alone: each question under its place, "file:line". Unanswerable ones are kept."""
    questions: dict[str, GoldenQuestion] = {}
    seen: set[str] = set()
    for line, row in _rows(path):
        question = questions[f"{path}:{line}"] = _golden_question(row, f"{path}:{line}")
        if question.id in seen:
            raise InvalidInput(f"{path}:{line}", f"id {question.id!r} occurs twice")
        seen.add(question.id)
    if not questions:
        raise InvalidInput(str(path), "holds no question")
    return questions


# --- BEIR ---------------------------------------------------------------------------------------------------------


def _beir_documents(path: Path) -> Iterator[DatasetDocument]:
    seen: set[str] = set()
    for line, row in _rows(path):
        where = f"{path}:{line}"
        source, title = _new_id(row, seen, where), _string(row, "title", where, required=False) or ""
        text = _string(row, "text", where, required=False) or ""
        if not (text.strip() or title.strip()):
            raise UnreadableDocument(f"{where}: document {source!r} has no text")
        yield DatasetDocument(source, title, text if text.strip() else title)
    if not seen:
        raise InvalidInput(str(path), "holds no document")


def _beir_queries(path: Path) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for line, row in _rows(path):
        where = f"{path}:{line}"
        _new_id(row, seen, where)
        _string(row, "text", where)
        for key in ("answer", "language"):
            _string(row, key, where, required=False)
        yield row
    if not seen:
        raise InvalidInput(str(path), "holds no question")


def _qrels_path(folder: Path) -> Path:
    for name in QRELS_NAMES:
        if (folder / name).is_file():
            return folder / name
    raise InvalidInput(str(folder), f"holds none of {', '.join(QRELS_NAMES)}")


def _read_qrels(path: Path, queries: Iterable[str], documents: Iterable[str]) -> dict[str, dict[str, float]]:
    known_queries, known_documents = frozenset(queries), frozenset(documents)
    judged: dict[str, dict[str, float]] = {}
    header_seen = False
    for line, text in _lines(path):
        where, fields = f"{path}:{line}", [field.strip() for field in text.split("\t")]
        if not header_seen:
            header_seen = True
            if [field.lower() for field in fields] != QRELS_HEADER:
                raise InvalidInput(where, f"expected the header {' '.join(QRELS_HEADER)}, separated by tabs")
            continue
        if len(fields) != len(QRELS_HEADER):
            raise InvalidInput(where, f"expected {len(QRELS_HEADER)} fields separated by tabs, got {len(fields)}")
        query, document, score = fields
        if query not in known_queries:
            raise InvalidInput(where, f"query {query!r} is not in queries.jsonl")
        if document not in known_documents:
            raise InvalidInput(where, f"document {document!r} is not in corpus.jsonl")
        if document in judged.setdefault(query, {}):
            raise InvalidInput(where, f"document {document!r} is judged twice for query {query!r}")
        judged[query][document] = _score(score, where)
    return judged


def _score(text: str, where: str) -> float:
    try:
        score = float(text)
    except ValueError:
        raise InvalidInput(where, f"score {text!r} is not a number") from None
    if not math.isfinite(score):
        raise InvalidInput(where, f"score {text!r} is not finite")
    return score


# --- documents with golden questions ------------------------------------------------------------------------------


def _golden_documents(folder: Path) -> Iterator[DatasetDocument]:
    if not folder.is_dir():
        raise InvalidInput(str(folder), "no such folder")
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    visible = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    if not visible:
        raise InvalidInput(str(folder), "holds no document")
    for name in visible:
        path = folder / name
        if path.suffix.lower() not in TEXT_SUFFIXES:
            raise UnreadableDocument(f"{path}: only {', '.join(TEXT_SUFFIXES)} can be evaluated")
        text = "\n".join(_decoded_lines(path)).replace("\r\n", "\n")
        if not text.strip():
            raise UnreadableDocument(f"{path}: holds no text")
        heading = _TITLE.match(text)
        yield DatasetDocument(name, heading.group(1).strip() if heading else path.stem, text)


def _golden_question(row: dict[str, Any], where: str) -> GoldenQuestion:
    answerable, passages = row.get("answerable", True), row.get("gold", [])
    if not isinstance(answerable, bool):
        raise InvalidInput(where, "answerable must be true or false")
    if not isinstance(passages, list) or not all(isinstance(passage, dict) for passage in passages):
        raise InvalidInput(where, "gold must be a list of objects")
    if answerable != bool(passages):
        raise InvalidInput(where, "gold must name a passage exactly where the question is answerable")
    if len(_required(row, "id", where)) > ID_CHARS:
        raise InvalidInput(where, f"id has more than {ID_CHARS} characters")
    return GoldenQuestion(
        id=_required(row, "id", where),
        question=_required(row, "question", where),
        gold=tuple(
            Gold(_required(passage, "source", where), quote=_string(passage, "quote", where, required=False) or "")
            for passage in passages
        ),
        answer=_string(row, "answer", where, required=False) or None,
        language=_string(row, "language", where, required=False) or UNKNOWN_LANGUAGE,
    )


def _check(gold: Gold, documents: Mapping[str, DatasetDocument], where: str) -> None:
    if gold.source not in documents:
        raise InvalidInput(where, f"document {gold.source!r} is not in the folder")
    if gold.quote not in documents[gold.source].text:
        raise InvalidInput(where, f"the quote is not a piece of {gold.source!r}")


# --- lines and fields ---------------------------------------------------------------------------------------------


def _decoded_lines(path: Path) -> Iterator[str]:
    """Lines split at line feeds alone: JSON strings may hold U+2028 and its like, where str.splitlines would cut."""
    try:
        raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise InvalidInput(str(path), "no such file") from None
    except OSError as error:
        raise InvalidInput(str(path), error.strerror or "cannot be read") from error
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnreadableDocument(f"{path}:{number}: not UTF-8 ({error.reason})") from None
        if "\x00" in text:
            raise UnreadableDocument(f"{path}:{number}: holds a NUL byte")
        yield text


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank."""
    return ((number, text.rstrip("\r")) for number, text in enumerate(_decoded_lines(path), 1) if text.strip())


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, text in _lines(path):
        try:
            row = json.loads(text)
        except ValueError as error:
            raise InvalidInput(f"{path}:{number}", f"not JSON: {error}") from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{path}:{number}", "not a JSON object")
        yield number, row


def _string(row: Mapping[str, Any], key: str, where: str, *, required: bool = True) -> str | None:
    """The string under `key`; None where it may be missing and is."""
    value = row.get(key)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise InvalidInput(where, f"{key} must be a string")
    if required and not value.strip():
        raise InvalidInput(where, f"{key} is empty")
    if "\x00" in value or _LONE_SURROGATE.search(value):
        raise InvalidInput(where, f"{key} holds a character that no database stores (NUL or half a surrogate pair)")
    return value


def _required(row: Mapping[str, Any], key: str, where: str) -> str:
    return _string(row, key, where) or ""


def _new_id(row: Mapping[str, Any], seen: set[str], where: str) -> str:
    value = _required(row, "_id", where)
    if value in seen:
        raise InvalidInput(where, f"id {value!r} occurs twice")
    seen.add(value)
    return value


def _dataset(
    folder: Path, documents: Iterable[DatasetDocument], questions: Iterable[GoldenQuestion], *, left_out: int = 0
) -> Dataset:
    corpus, asked = tuple(documents), tuple(questions)
    return Dataset(
        name=folder.resolve().name,
        documents=corpus,
        questions=asked,
        sha256=_digest([document.source, document.title, document.text] for document in corpus),
        questions_sha256=_digest(
            [one.id, one.question, one.answer, one.answerable, [[g.source, g.gain, g.quote] for g in one.gold]]
            for one in asked
        ),
        left_out=left_out,
    )


def _digest(rows: Iterable[list[Any]]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()
