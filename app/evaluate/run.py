"""Run the questions of a data set through the search that people use, and measure its rankings."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256

import numpy as np

from app.db import collections, documents
from app.db.documents import ChunkDetail
from app.db.pool import Db
from app.errors import RagledgerError
from app.evaluate import metrics
from app.evaluate.datasets import Dataset
from app.evaluate.report import Results, summarise
from app.ingest import pipeline as ingest
from app.lexical.tokens import TOKENIZER
from app.query import pipeline, quote, refuse
from app.query.timing import Timings
from app.query.understand import understand
from app.records import Candidates, Collection, GoldenQuestion, Ints, Question, Source
from app.resources import Resources

DEPTH = 10
CHUNKS_READ = 3 * DEPTH  # overlapping chunks may hold one passage
Progress = Callable[[str, int, int], None]  # what, how many done, of how many


@dataclass(frozen=True, slots=True)
class Case:
    """One question's outcome: documents in order, by ranking, and whether the answer would be refused."""

    question: GoldenQuestion
    ranked: dict[str, list[str]]
    refused: bool


def evaluate(dataset: Dataset, resources: Resources, on_progress: Progress) -> Results:
    """Load a data set into its scratch collection, where it is not there yet, and measure it."""
    collection = load(dataset, resources, on_progress)
    return measure(dataset.name, dataset.questions, collection, resources, on_progress, left_out=dataset.left_out)


def measure(
    name: str,
    questions: Sequence[GoldenQuestion],
    collection: Collection,
    resources: Resources,
    on_progress: Progress,
    *,
    left_out: int = 0,
) -> Results:
    """Ask a collection as it is. Raises ValueError where no question is answerable."""
    cases = []
    for done, question in enumerate(questions, 1):
        cases.append(_case(question, collection, resources))
        on_progress("asking", done, len(questions))
    answerable = [case for case in cases if case.question.answerable]
    rates = metrics.refusal_rates([c.question.answerable for c in cases], [c.refused for c in cases])
    scores = {
        ranking: [metrics.question_scores(case.ranked[ranking], case.question.gains()) for case in answerable]
        for ranking in ("fused", "vector", "bm25")
    }
    return summarise(name, scores, refusals=rates, left_out=left_out)


def load(dataset: Dataset, resources: Resources, on_progress: Progress) -> Collection:
    """The scratch collection of a data set, filled; its name is a digest of all that decides its content, so that
    data sets of the same documents share it and an unchanged one is found as it was."""
    parts = [dataset.sha256, TOKENIZER, asdict(resources.splitting), asdict(resources.embedder.identity)]
    name = f"eval {sha256(repr(parts).encode()).hexdigest()[:16]}"
    collection = ingest.open_collection(name, resources)
    for done, document in enumerate(dataset.documents, 1):
        media_type = "text/markdown" if document.source.endswith((".md", ".markdown")) else "text/plain"
        source = Source(document.source, document.title, media_type, document.text)
        outcome = ingest.ingest(source, name, resources)
        if outcome.outcome in {"failed", "pending"}:
            raise RagledgerError(f"{dataset.name}: {outcome.source}: {outcome.reason}")
        on_progress("loading", done, len(dataset.documents))
    with resources.database.read() as connection:
        return collections.get(connection, collection.name)


def _case(gold: GoldenQuestion, collection: Collection, resources: Resources) -> Case:
    question = Question(gold.question, collection.name, resources.ranking_with(top_k=DEPTH))
    asked = understand(question, collection, resources)
    found = pipeline.find(asked, resources, Timings())
    evidence = quote.best(found.hits, found.spans, found.candidates.recalled.statistics, found.asked.collection.words)
    with resources.database.read() as snapshot:
        ranks = {
            "fused": found.candidates.rank,
            "vector": found.candidates.recalled.vector_rank,
            "bm25": found.candidates.recalled.bm25_rank,
        }
        ranked = {
            name: ranked_items(gold, found.candidates, values, collection.id, snapshot)
            for name, values in ranks.items()
        }
    confidence = refuse.confidence(gold.question, found.hits, found.candidates, evidence.coverage)
    return Case(gold, ranked, refused=not refuse.answers(evidence.quotes, confidence))


def ranked_items(
    gold: GoldenQuestion, candidates: Candidates, ranks: Ints, collection_id: int, snapshot: Db
) -> list[str]:
    """What a ranking holds, best first: documents, each at its best chunk, or where the gold are passages, those of
    them that its chunks hold, and the other chunks by their ids. Rank 0 means not on it."""
    on_list = np.flatnonzero(ranks > 0)
    ids: list[int] = candidates.recalled.chunk_ids[on_list[ranks[on_list].argsort()]].tolist()
    if not any(passage.quote for passage in gold.gold):
        return list(dict.fromkeys(candidates.recalled.labels[chunk_id].source for chunk_id in ids))
    chunks = documents.details(snapshot, collection_id, ids[:CHUNKS_READ])
    items = [item for chunk_id in ids[:CHUNKS_READ] for item in _passages(gold, chunks[chunk_id])]
    return list(dict.fromkeys(items))


def _passages(gold: GoldenQuestion, chunk: ChunkDetail) -> list[str]:
    held = [g.item for g in gold.gold if g.source == chunk.source and g.quote in chunk.text]
    return held or [f"chunk {chunk.id}"]
