"""What an evaluation found, as a table to read and as JSON to keep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table
from rich.text import Text

from app.evaluate.metrics import Estimate, RefusalRates, mean_with_interval, paired_difference

RANKINGS = ("fused", "vector", "bm25")
METRICS = ("ndcg@10", "mrr@10", "recall@1", "recall@10")
COMPARED = "ndcg@10"


@dataclass(frozen=True, slots=True)
class Results:
    """One data set: `rankings` is ranking -> metric -> estimate; `differences` is fused minus that ranking, in nDCG@10.

    Raises ValueError where a ranking or a metric is missing: a report with a gap would be read as a report without one.
    """

    dataset: str
    questions: int
    rankings: Mapping[str, Mapping[str, Estimate]]
    differences: Mapping[str, Estimate] = field(default_factory=dict)
    refusals: RefusalRates | None = None
    left_out: int = 0

    def __post_init__(self) -> None:
        missing = [
            f"{ranking} {metric}"
            for ranking in RANKINGS
            for metric in METRICS
            if metric not in self.rankings.get(ranking, {})
        ]
        if missing:
            raise ValueError(f"results of {self.dataset} lack {', '.join(missing)}")


def summarise(
    dataset: str,
    scores: Mapping[str, Sequence[Mapping[str, float]]],
    *,
    refusals: RefusalRates | None = None,
    left_out: int = 0,
) -> Results:
    """Average the scores of single questions (`metrics.question_scores`), one row per question and aligned by ranking.

    Raises ValueError where the rankings hold different numbers of questions, or none.
    """
    columns = {
        ranking: {metric: [row[metric] for row in scores[ranking]] for metric in METRICS} for ranking in RANKINGS
    }
    fused = columns["fused"][COMPARED]
    return Results(
        dataset=dataset,
        questions=len(fused),
        rankings={
            ranking: {metric: mean_with_interval(values) for metric, values in by_metric.items()}
            for ranking, by_metric in columns.items()
        },
        differences={
            ranking: paired_difference(fused, columns[ranking][COMPARED]) for ranking in RANKINGS if ranking != "fused"
        },
        refusals=refusals,
        left_out=left_out,
    )


def as_table(results: Results) -> Table:
    """A table for the terminal: one row per ranking, the 95 % interval under each value."""
    left_out = f", {results.left_out} left out" if results.left_out else ""
    table = Table(
        title=Text(f"{results.dataset}: {results.questions} questions{left_out}"),
        caption="\n".join(_notes(results)) or None,
        caption_justify="left",
        show_lines=True,
    )
    table.add_column("ranking")
    for metric in METRICS:
        table.add_column(metric, justify="right")
    for ranking in RANKINGS:
        row = results.rankings[ranking]
        table.add_row(ranking, *(_cell(row[metric]) for metric in METRICS))
    return table


def as_json(results: Results) -> dict[str, Any]:
    """Plain values by ranking and metric at the top, their intervals under `intervals` in the same shape."""
    return {
        "dataset": results.dataset,
        "questions": results.questions,
        "left_out": results.left_out,
        **{ranking: {metric: results.rankings[ranking][metric].value for metric in METRICS} for ranking in RANKINGS},
        "intervals": {
            ranking: {metric: _interval(results.rankings[ranking][metric]) for metric in METRICS}
            for ranking in RANKINGS
        },
        "differences": {ranking: difference._asdict() for ranking, difference in results.differences.items()},
        "refusals": _refusals(results.refusals),
    }


def _notes(results: Results) -> list[str]:
    notes = [
        f"fused - {ranking}, {COMPARED}: {signed(difference)}" for ranking, difference in results.differences.items()
    ]
    if refusals := results.refusals:
        for label, rate, total in (
            ("refusal accuracy", refusals.accuracy, refusals.answerable + refusals.unanswerable),
            ("answerable but refused", refusals.wrongly_refused, refusals.answerable),
            ("unanswerable but answered", refusals.wrongly_answered, refusals.unanswerable),
        ):
            notes += [f"{label}: {rate.value:.1%} of {total} ({rate.low:.1%} to {rate.high:.1%})"] if rate else []
    return notes


def _cell(estimate: Estimate) -> str:
    return f"{estimate.value:.3f}\n{estimate.low:.3f}–{estimate.high:.3f}"


def signed(estimate: Estimate) -> str:
    """A difference with its interval, and whether it shows anything."""
    verdict = "" if estimate.low > 0 or estimate.high < 0 else ", no clear difference"
    return f"{estimate.value:+.3f} ({estimate.low:+.3f} to {estimate.high:+.3f}{verdict})"


def _interval(estimate: Estimate) -> list[float]:
    return [estimate.low, estimate.high]


def _refusals(refusals: RefusalRates | None) -> dict[str, Any] | None:
    if refusals is None:
        return None
    return {
        "accuracy": refusals.accuracy._asdict(),
        "answerable": refusals.answerable,
        "unanswerable": refusals.unanswerable,
        "wrongly_refused": refusals.wrongly_refused._asdict() if refusals.wrongly_refused else None,
        "wrongly_answered": refusals.wrongly_answered._asdict() if refusals.wrongly_answered else None,
    }
