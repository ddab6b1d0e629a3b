"""Collections of any size with text that reads like text, written in bulk through the service's own db functions.

Sentences are drawn, Zipf-like, from the words of the project's real texts in Chinese and English and, since texts of
that size have more, from made ones; vectors are means of a few of their sentences' vectors with a little noise, so that
neighbours are near and loading needs no model.
"""

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import psycopg

from app import services
from app.db import collections, documents, postings, vectors
from app.ingest import compact, index
from app.ingest import pipeline as ingest
from app.ingest.embed import text_hash
from app.lexical import segments
from app.lexical.tokens import TOKENIZER, tokens
from app.records import Chunk, Collection, Ints, Source, Span, Vectors
from app.resources import Resources

_TEXTS = Path(__file__).resolve().parents[1] / "data" / "mixed_texts.jsonl"
_SENTENCES = 20_000  # so that few chunks resemble each other
_VOCABULARY = 50_000  # of each language
_ASKED = 10_000  # the most frequent ones, which occur
_EMBEDDED = 400
_CHUNK_SENTENCES = (10, 16)  # with spans of two: about what the samples are split into
_SPAN_SENTENCES = 2
_DOCUMENT_CHUNKS = 50
_BATCH_CHUNKS = 20_000  # of one segment and one transaction
_NOISE = 0.02  # per dimension


@dataclass
class Prose:
    """Sentences, the tokens of each, and questions; the same at every run."""

    seed: int = 7

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - no secret
        real = [json.loads(line)["text"] for line in _TEXTS.read_text(encoding="utf-8").splitlines()]
        chinese = {w for text in real for w in tokens(text) if "\u4e00" <= w[0] <= "\u9fff"}
        english = {w for text in real for w in text.split() if w.isascii() and w.isalpha()}
        self._words = {"zh": self._ranked(chinese, 3), "en": self._ranked(english, 7)}
        self._cumulated = list(itertools.accumulate(1 / (n + 3) for n in range(_VOCABULARY)))

    @cached_property
    def sentences(self) -> list[str]:
        return [self._sentence("zh" if n % 2 else "en") for n in range(_SENTENCES)]

    @cached_property
    def tokens(self) -> list[list[str]]:
        """Of each sentence; those of a text of several lines are theirs together."""
        return [tokens(sentence) for sentence in self.sentences]

    def questions(self) -> Iterator[str]:
        """Endless and distinct; all orders of frequency are equally likely, so that rare and frequent words mix."""
        for n in itertools.count():
            if n % 2:
                yield f"{''.join(self._asked('zh', 5))}是什么？（{n}）"
            else:
                yield f"What do {' '.join(self._asked('en', 7))} have in common, no. {n}?"

    def _sentence(self, language: str) -> str:
        count = self.random.randint(8, 16)
        words = self.random.choices(self._words[language], cum_weights=self._cumulated, k=count)
        return "".join(words) + "。" if language == "zh" else " ".join(words).capitalize() + "."

    def _asked(self, language: str, count: int) -> list[str]:
        return [self._words[language][int(_ASKED ** self.random.random()) - 1] for _ in range(count)]

    def _ranked(self, real: set[str], length: int) -> list[str]:
        """The real words in some order, then made ones of this length of their characters: the nth is drawn in
        proportion to 1/n."""
        words = dict.fromkeys(self.random.sample(sorted(real), len(real)))
        characters = sorted(set("".join(real).lower()))
        while len(words) < _VOCABULARY:
            words["".join(self.random.choices(characters, k=length))] = None
        return list(words)


def fill(resources: Resources, name: str, chunks: int, *, prose: Prose, spans: bool = True) -> Collection:
    """A collection of this many chunks, indexed where that is due, statistics gathered, all of it on the disk."""
    collection = ingest.open_collection(name, resources)
    near = resources.embedder.embed_passages(prose.sentences[:_EMBEDDED])
    rng = np.random.default_rng(prose.seed)
    for start in range(0, chunks, _BATCH_CHUNKS):
        _write_batch(resources, collection, range(start, min(chunks, start + _BATCH_CHUNKS)), prose, near, rng, spans)
    compact.compact(collection.id, resources)  # as the service does behind its writers' backs
    if index.state(collection, resources).due:
        index.build(collection.space, resources, lambda _: None, online=False)
    with psycopg.connect(services.database_url(resources.settings), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # now, rather than in the middle of what is measured
        connection.execute("CHECKPOINT")
    return collection


def _write_batch(
    resources: Resources,
    collection: Collection,
    numbers: range,
    prose: Prose,
    near: Vectors,
    rng: np.random.Generator,
    spans: bool,
) -> None:
    indexed: dict[int, list[str]] = {}
    with resources.database.write(unhurried=True) as connection:
        for first in numbers[::_DOCUMENT_CHUNKS]:
            made, drawn = _document(prose, min(_DOCUMENT_CHUNKS, numbers.stop - first), spans)
            content = "\n\n".join(chunk.text for chunk in made)
            source = Source(f"{first:09}.txt", f"Document {first}", "text/plain", content, {"number": first})
            document_id = documents.insert(connection, collection.id, source, text_hash(content), collection.splitting)
            hashes = [text_hash(chunk.text) for chunk in made]
            ids = documents.insert_chunks(connection, collection.id, [document_id] * len(made), made, hashes)
            of_chunks = _near(near, len(ids), rng)
            vectors.add(connection, collection, ids, list(of_chunks))
            keys = [(i, n) for i, chunk in zip(ids, made, strict=True) for n in range(len(chunk.spans))]
            owner = np.repeat(np.arange(len(ids)), [len(chunk.spans) for chunk in made])
            of_spans = _near(of_chunks, len(keys), rng, owner)
            vectors.add_spans(connection, collection, keys, list(of_spans))
            for i, lines in zip(ids, drawn, strict=True):
                indexed[i] = [token for n in lines for token in prose.tokens[n]]
        postings.add(connection, collection.id, segments.build(indexed), TOKENIZER)
        collections.bump(connection, collection.id)


def _document(prose: Prose, count: int, with_spans: bool) -> tuple[list[Chunk], list[list[int]]]:
    """Chunks in order, and the numbers of each one's sentences."""
    chunks, drawn, at = [], [], 0
    for ordinal in range(count):
        numbers = prose.random.choices(range(_SENTENCES), k=prose.random.randint(*_CHUNK_SENTENCES))
        lines = [prose.sentences[n] for n in numbers]
        text = "\n".join(lines)
        cut = _spans(lines) if with_spans else ()
        chunks.append(Chunk(ordinal, at, at + len(text), text, f"Section {ordinal // 10}", cut))
        drawn.append(numbers)
        at += len(text) + 2
    return chunks, drawn


def _spans(lines: Sequence[str]) -> tuple[Span, ...]:
    ends = list(itertools.accumulate(len(line) + 1 for line in lines))
    bounds = [0, *ends[_SPAN_SENTENCES - 1 : -1 : _SPAN_SENTENCES], ends[-1] - 1]
    return tuple(Span(start, end) for start, end in itertools.pairwise(bounds))


def _near(centres: Vectors, count: int, rng: np.random.Generator, owner: Ints | None = None) -> Vectors:
    """Unit vectors near the mean of two centres, or each near its owner."""
    made = centres[rng.integers(len(centres), size=(count, 2))].mean(axis=1) if owner is None else centres[owner]
    made = made + rng.normal(0, _NOISE, made.shape)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)
