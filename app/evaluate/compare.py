"""Compare a collection's retrieval in two vector spaces on questions whose answers are known, in the same snapshots."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.db.pool import Db
from app.evaluate import metrics
from app.evaluate.metrics import Estimate, mean_with_interval, paired_difference
from app.evaluate.run import DEPTH, Progress, ranked_items
from app.query import fuse, head, recall, rerank
from app.query.understand import tokenized
from app.records import Asked, Collection, GoldenQuestion, Question
from app.resources import Resources

METRICS = ("ndcg@10", "mrr@10")
Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """By metric: the mean in the old and in the new space, and new minus old, paired by question."""

    questions: int
    old: dict[str, Estimate]
    new: dict[str, Estimate]
    differences: dict[str, Estimate]

    @property
    def ndcg_ratio(self) -> float:
        """New over old; 1 where the old one found nothing."""
        old = self.old["ndcg@10"].value
        return self.new["ndcg@10"].value / old if old else 1.0


def compare(
    golden: Iterable[GoldenQuestion], old: Collection, new: Collection, resources: Resources, on_progress: Progress
) -> Comparison:
    """Ask each answerable question in both spaces. `old` is the collection as it is, `new` as it will be.

    Raises EmbedderUnavailable where one of the models cannot be asked, ValueError where no question is answerable.
    """
    questions = [question for question in golden if question.answerable]
    scores: list[tuple[Scores, Scores]] = []
    for done, gold in enumerate(questions, 1):
        scores.append(_scores(gold, old, new, resources))
        on_progress("comparing", done, len(questions))
    columns = {name: ([a[name] for a, _ in scores], [b[name] for _, b in scores]) for name in METRICS}
    return Comparison(
        questions=len(questions),
        old={name: mean_with_interval(values[0]) for name, values in columns.items()},
        new={name: mean_with_interval(values[1]) for name, values in columns.items()},
        differences={name: paired_difference(new, old) for name, (old, new) in columns.items()},
    )


def _scores(gold: GoldenQuestion, old: Collection, new: Collection, resources: Resources) -> tuple[Scores, Scores]:
    question = Question(gold.question, old.name, resources.ranking_with(top_k=DEPTH))
    by_old, by_new = (resources.embedder_of(c.space).embed_questions([question.text])[0] for c in (old, new))
    with resources.database.read() as snapshot:
        asked = tokenized(Asked(question, old, (), by_old), snapshot)
        other = replace(asked, collection=replace(asked.collection, space=new.space), vector=by_new)
        return _measured(gold, asked, snapshot, resources), _measured(gold, other, snapshot, resources)


def _measured(gold: GoldenQuestion, asked: Asked, snapshot: Db, resources: Resources) -> Scores:
    candidates = fuse.weighted(recall.both_paths(asked, snapshot, resources), asked.question.ranking)
    best = head.read(candidates, asked, snapshot)
    candidates, _ = rerank.reorder(candidates, best, asked, resources)
    items: Sequence[str] = ranked_items(gold, candidates, candidates.rank, asked.collection.id, snapshot)
    return metrics.question_scores(items, gold.gains())
