"""Measures of a ranking and of refusals, each between 0 and 1, and the spread of their averages.

A ranking is a sequence of document ids, best first, without duplicates; where several chunks of one document were
found, the caller keeps the best. A measure of a question without a relevant document is undefined: a ValueError.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.records import Floats

SEED = 20250318  # any fixed number: two runs over the same scores must print the same interval
RESAMPLES = 2_000
CONFIDENCE = 0.95
WILSON_Z = 1.959963984540054  # standard normal quantile of (1 + CONFIDENCE) / 2


class Estimate(NamedTuple):
    """An average and its 95 % interval, low <= value <= high."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RefusalRates:
    """How often a refusal was the wrong reply, or was missing. None where no question is of that kind.

    `accuracy` is the share of all questions that were rightly answered or rightly refused.
    """

    accuracy: Estimate
    answerable: int
    unanswerable: int
    wrongly_refused: Estimate | None
    wrongly_answered: Estimate | None


def ndcg_at(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """Normalised discounted cumulative gain of the first k.

    gains: document id -> graded relevance >= 0, taken as it is (not 2^gain - 1); ids not in it count 0.
    Returns [0, 1]; 1 where no other order of any documents would gain more within the first k.
    Raises ValueError for k < 1, duplicates, a negative or not finite gain, and where no gain is positive.
    Source: Järvelin and Kekäläinen, TOIS 2002, discount log2(rank + 1) as in trec_eval and BEIR.
    """
    top = _first(ranked, k)
    if not all(math.isfinite(gain) and gain >= 0 for gain in gains.values()):
        raise ValueError("gains are finite and not negative")
    if not any(gains.values()):
        raise ValueError("no document is relevant: the measure is undefined")
    ideal = sorted(gains.values(), reverse=True)[:k]
    # a perfect order sums the same numbers in the same sequence, so it is exactly 1; min() catches rounding elsewhere
    return min(1.0, _discounted([gains.get(document, 0.0) for document in top]) / _discounted(ideal))


def mrr_at(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Reciprocal rank of the first relevant document among the first k, 0 where there is none.

    Returns 0 or [1/k, 1]; its average over questions is MRR@k. Raises as `recall_at`. Source: Voorhees, TREC-8 1999.
    """
    wanted = _relevant(relevant)
    return next((1 / rank for rank, document in enumerate(_first(ranked, k), 1) if document in wanted), 0.0)


def recall_at(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Share of the relevant documents that stand among the first k.

    Returns [0, 1]; below 1 by necessity where more than k documents are relevant.
    Raises ValueError for k < 1, duplicates, and where no document is relevant.
    """
    wanted = _relevant(relevant)
    return len(wanted.intersection(_first(ranked, k))) / len(wanted)


def question_scores(ranked: Sequence[str], gains: Mapping[str, float]) -> dict[str, float]:
    """The four measures that a report holds, of one question. Documents with a gain above 0 are relevant."""
    relevant = {document for document, gain in gains.items() if gain > 0}
    return {
        "ndcg@10": ndcg_at(ranked, gains, 10),
        "mrr@10": mrr_at(ranked, relevant, 10),
        "recall@1": recall_at(ranked, relevant, 1),
        "recall@10": recall_at(ranked, relevant, 10),
    }


def mean_with_interval(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    """Mean of one score per question, with a 95 % percentile bootstrap interval over the questions.

    values (n,), n >= 1, finite. The interval tells how far another sample of like questions could move the mean. It is
    too narrow below some 30 questions, and of no width where all scores are equal: then it says nothing.
    Raises ValueError for no value, a value not finite, or resamples < 1. Source: Efron, Annals of Statistics 1979.
    """
    scores = _finite(values)
    if resamples < 1:
        raise ValueError("resamples must be at least 1")
    rng = np.random.default_rng(seed)
    # one draw at a time: a (resamples, n) table of a large set would take more memory than the vectors
    means = [scores[rng.integers(scores.size, size=scores.size)].mean() for _ in range(resamples)]
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    mean = float(scores.mean())
    return Estimate(mean, min(mean, float(low)), max(mean, float(high)))


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED
) -> Estimate:
    """Mean of first - second over the same questions, with its 95 % bootstrap interval: above 0, `first` is better.

    Both (n,), aligned by question, so that hard questions cancel out; an interval that holds 0 shows no difference.
    Returns [-1, 1] for measures in [0, 1]. Raises ValueError where the lengths differ, else as `mean_with_interval`.
    Source: Sakai, SIGIR 2006.
    """
    one, other = _finite(first), _finite(second)
    if one.size != other.size:
        raise ValueError(f"scores of {one.size} and {other.size} questions cannot be paired")
    return mean_with_interval((one - other).tolist(), resamples=resamples, seed=seed)


def rate_with_interval(count: int, total: int) -> Estimate:
    """Share count/total with its 95 % Wilson interval, which keeps its width where a bootstrap has none (0 of 14).

    Raises ValueError unless 0 <= count <= total and total >= 1. Source: Wilson, JASA 1927.
    """
    if not 0 <= count <= total or total < 1:
        raise ValueError(f"{count} of {total} is no rate")
    rate, spread = count / total, WILSON_Z**2 / total
    centre = (rate + spread / 2) / (1 + spread)
    reach = WILSON_Z / (1 + spread) * math.sqrt(rate * (1 - rate) / total + spread / (4 * total))
    return Estimate(rate, max(0.0, min(rate, centre - reach)), min(1.0, max(rate, centre + reach)))


def refusal_rates(answerable: Sequence[bool], refused: Sequence[bool]) -> RefusalRates:
    """Error rates of refusing: answerable questions refused, and unanswerable ones answered. Lower is better.

    Both (n,), aligned by question. Neither rate tells anything alone: refusing all questions makes one of them 0.
    Raises ValueError where the lengths differ or there is no question.
    """
    if len(answerable) != len(refused) or not answerable:
        raise ValueError(f"{len(answerable)} questions, {len(refused)} replies")
    refused_answerable = [reply for known, reply in zip(answerable, refused, strict=True) if known]
    refused_unanswerable = [reply for known, reply in zip(answerable, refused, strict=True) if not known]
    right = sum(known != reply for known, reply in zip(answerable, refused, strict=True))
    return RefusalRates(
        accuracy=rate_with_interval(right, len(refused)),
        answerable=len(refused_answerable),
        unanswerable=len(refused_unanswerable),
        wrongly_refused=_rate(sum(refused_answerable), len(refused_answerable)),
        wrongly_answered=_rate(len(refused_unanswerable) - sum(refused_unanswerable), len(refused_unanswerable)),
    )


def _rate(count: int, total: int) -> Estimate | None:
    return rate_with_interval(count, total) if total else None


def _first(ranked: Sequence[str], k: int) -> Sequence[str]:
    if k < 1:
        raise ValueError("k must be at least 1")
    if len(set(ranked)) != len(ranked):
        raise ValueError("a document stands in the ranking more than once")
    return ranked[:k]


def _relevant(relevant: Collection[str]) -> set[str]:
    if not relevant:
        raise ValueError("no document is relevant: the measure is undefined")
    return set(relevant)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _finite(values: Sequence[float]) -> Floats:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or scores.size == 0 or not np.isfinite(scores).all():
        raise ValueError("scores are a list of finite numbers, at least one")
    return scores
