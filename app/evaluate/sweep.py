"""Choose the parameters of a ranking on some questions, and report them on others that had no say.

What a ranking is made of is read once per question, over all candidates; every point of the grid is then computed from
it by the functions that a search uses. A grid always has a best point: only the held-out figures tell whether it helps.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.evaluate import metrics
from app.evaluate.datasets import Dataset
from app.evaluate.metrics import SEED, Estimate
from app.evaluate.run import Progress, load
from app.query import fuse, head, recall, rerank
from app.query.rerank import spans
from app.query.understand import tokenized, understand
from app.records import Candidates, Collection, Floats, FusionName, GoldenQuestion, Question, Ranking, Recalled
from app.resources import Resources

FOLDS = 5
DEPTH = 10  # nDCG@10
CHUNKS_READ = 3 * DEPTH  # several chunks may belong to one document
_RANKED = replace(Ranking(), rerank_depth=1_000, collapse_duplicates=False)

FUSIONS: tuple[FusionName, ...] = ("minmax", "zscore", "rrf", "weighted_rrf", "score")
VECTOR_WEIGHTS = (0.3, 0.4, 0.5)  # BM25's is the rest to 1
CONFIDENCES = (0.25, 0.35, 0.5)
DEPTHS = (10, 20, 30, 50)
RERANK_WEIGHTS = (0.3, 0.4, 0.5, 0.6)
COVERAGE_WEIGHTS = (0.0, 0.1, 0.2, 0.3)

Mask = NDArray[np.bool_]  # (q,) true for the questions that count
Table = Mapping[str, Mapping[Ranking, Floats]]  # data set -> ranking -> nDCG@10 of each of its questions


@dataclass(frozen=True, slots=True)
class Case:
    """One question with all that a ranking of it is made of; arrays (n,) over its candidates."""

    recalled: Recalled
    span_cosine: Floats
    sources: tuple[str, ...]
    gains: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Choice:
    """What was best elsewhere, on the questions held out: nDCG@10 of the default and of the chosen ranking, averaged
    over questions, and their paired difference."""

    held_out: str
    chosen: Ranking
    default: float
    ndcg: float
    difference: Estimate


def grid() -> list[Ranking]:
    """The default first, then every point."""
    default = Ranking()
    points = [
        replace(default, vector_weight=v, bm25_weight=round(1 - v, 3), confidence_c0=c0, rerank_depth=depth,
                rerank_weight=weight, rerank_coverage_weight=covered)
        for v, c0, depth, weight, covered in product(
            VECTOR_WEIGHTS, CONFIDENCES, DEPTHS, RERANK_WEIGHTS, COVERAGE_WEIGHTS)
    ]  # fmt: skip
    # the scale of `fused` differs by method, and with it what a rerank weight means
    others = [
        replace(default, fusion=fusion, rerank_weight=weight * scale, rerank_coverage_weight=covered)
        for fusion, weight, covered in product(FUSIONS, RERANK_WEIGHTS, COVERAGE_WEIGHTS)
        for scale in ({"rrf": 0.03, "weighted_rrf": 0.015, "zscore": 3.0, "score": 0.3}.get(fusion, 1.0),)
    ]
    return list(dict.fromkeys([default, *points, *others]))


def gather(dataset: Dataset, resources: Resources, on_progress: Progress) -> list[Case]:
    """Every question of a data set with its features."""
    collection = load(dataset, resources, on_progress)
    cases = []
    for done, question in enumerate(dataset.questions, 1):
        cases.append(_case(question, collection, resources))
        on_progress("reading", done, len(dataset.questions))
    return cases


def _case(gold: GoldenQuestion, collection: Collection, resources: Resources) -> Case:
    asked = understand(Question(gold.question, collection.name, _RANKED), collection, resources)
    with resources.database.read() as snapshot:
        asked = tokenized(asked, snapshot)
        recalled = recall.both_paths(asked, snapshot, resources)
        candidates = fuse.weighted(recalled, _RANKED)
        best = head.read(candidates, asked, snapshot)
    span_cosine = spans.attached(candidates, best).span_cosine
    sources = tuple(best.chunks[chunk_id].source for chunk_id in recalled.chunk_ids.tolist())
    return Case(recalled, span_cosine, sources, gold.gains())


def scores(cases: Sequence[Case], rankings: Iterable[Ranking], on_progress: Progress) -> dict[Ranking, Floats]:
    """nDCG@10 (len(cases),) of each ranking."""
    grouped: dict[Ranking, list[Ranking]] = {}
    for ranking in rankings:
        grouped.setdefault(replace(ranking, rerank_depth=0, rerank_weight=0, rerank_coverage_weight=0), []).append(
            ranking
        )
    found: dict[Ranking, list[float]] = {ranking: [] for group in grouped.values() for ranking in group}
    for done, case in enumerate(cases, 1):
        on_progress(f"ranking in {len(found)} ways", done, len(cases))
        for fusion, group in grouped.items():
            fused = fuse.weighted(case.recalled, fusion)
            for ranking in group:
                found[ranking].append(_ndcg(case, reranked(case, fused, ranking)))
    return {ranking: np.array(values) for ranking, values in found.items()}


def reranked(case: Case, fused: Candidates, ranking: Ranking) -> Candidates:
    """The candidates as a search with this ranking would order them."""
    span_cosine = np.where(fused.fused_rank <= ranking.rerank_depth, case.span_cosine, np.nan)
    read = replace(fused, span_cosine=span_cosine)
    return rerank.ranked(replace(read, rerank_score=spans.score(read, ranking)), ranking)


def _ndcg(case: Case, candidates: Candidates) -> float:
    best = candidates.rank.argsort()[:CHUNKS_READ].tolist()
    return metrics.ndcg_at(list(dict.fromkeys(case.sources[n] for n in best)), case.gains, DEPTH)


def leave_one_set_out(table: Table) -> Iterator[Choice]:
    """Choose on all sets but one, report on that one. Nothing where there is one set only."""
    for name in table if len(table) > 1 else ():
        masks = _everything(table)
        unseen = {name: masks.pop(name)}
        yield _choice(name, table, masks, unseen)


def cross_validated(table: Table, folds: int = FOLDS) -> Iterator[Choice]:
    """Choose on all folds but one of every set's questions, report on that one."""
    rng = np.random.default_rng(SEED)
    fold_of = {name: rng.permutation(len(_default(rows))) % folds for name, rows in table.items()}
    for fold in range(folds):
        rest = {name: of != fold for name, of in fold_of.items()}
        yield _choice(f"fold {fold + 1}", table, rest, {name: ~mask for name, mask in rest.items()})


def best(table: Table, among: Mapping[str, Mask] | None = None) -> Ranking:
    """The ranking of the highest mean over sets, each set's mean over the chosen questions; of equals the first."""
    masks = among or _everything(table)
    rankings = next(iter(table.values()))
    return max(rankings, key=lambda ranking: _mean(table, ranking, masks))


def _choice(held_out: str, table: Table, seen: Mapping[str, Mask], unseen: Mapping[str, Mask]) -> Choice:
    chosen = best(table, seen)
    new = np.concatenate([table[name][chosen][mask] for name, mask in unseen.items()])
    old = np.concatenate([_default(table[name])[mask] for name, mask in unseen.items()])
    return Choice(
        held_out, chosen, float(old.mean()), float(new.mean()), metrics.paired_difference(new.tolist(), old.tolist())
    )


def _mean(table: Table, ranking: Ranking, among: Mapping[str, Mask]) -> float:
    return float(np.mean([table[name][ranking][mask].mean() for name, mask in among.items()]))


def _everything(table: Table) -> dict[str, Mask]:
    return {name: np.ones(len(_default(rows)), bool) for name, rows in table.items()}


def _default(rows: Mapping[Ranking, Floats]) -> Floats:
    return rows[Ranking()]


def changes(ranking: Ranking) -> dict[str, Any]:
    """Where a ranking differs from the default."""
    default = asdict(Ranking())
    return {name: value for name, value in asdict(ranking).items() if value != default[name]}
