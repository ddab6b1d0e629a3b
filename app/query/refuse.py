"""Decide whether the passages answer the question at all, and say so in its language when they do not.

A logistic model over the best span's cosine and the share of the question's terms that the best hit covers.
Fitted on questions of public sets asked of their own paragraphs and of other sets' (XQuAD, CMRC 2018, DRCD), the
mistake of refusing weighted three times. It tells other subjects apart, not a missing detail of the same subject;
`ragledger eval` reports both errors on a collection's own questions.
"""

import math
from collections.abc import Sequence

import numpy as np

from app.query.language import is_chinese
from app.records import Candidates, Floats, Hit, Quote

THRESHOLD = 0.5
# (intercept, best span's cosine, coverage). Across languages no words agree, and cosines are lower.
SAME_LANGUAGE = (-27.56, 37.54, 14.10)
ACROSS_LANGUAGES = (-21.64, 40.67, 0.0)
UNKNOWN_COSINE = 0.62  # the middle between the two outcomes, where the vector path is away


def confidence(question: str, hits: Sequence[Hit], candidates: Candidates, coverage: float) -> float:
    """The estimated probability, 0 to 1, that the collection answers the question; 0 without a hit."""
    if not hits:
        return 0.0
    same = is_chinese(question) == is_chinese(hits[0].text)
    intercept, cosine_weight, coverage_weight = SAME_LANGUAGE if same else ACROSS_LANGUAGES
    logit = intercept + cosine_weight * _best_cosine(candidates) + coverage_weight * coverage
    return 1 / (1 + math.exp(-logit))


def answers(quotes: Sequence[Quote], confidence: float) -> bool:
    """Whether to answer with what was found, rather than to refuse."""
    return bool(quotes) and confidence >= THRESHOLD


def text(question: str, nearest: Sequence[Hit]) -> str:
    """The refusal in the question's language, naming the nearest documents."""
    titles = list(dict.fromkeys(hit.title for hit in nearest))[:3]
    if is_chinese(question):
        named = "最接近的文档：" + "、".join(f"《{title}》" for title in titles) + "。" if titles else ""
        return f"知识库中没有找到这个问题的答案。{named}"
    named = " The nearest documents are: " + "; ".join(titles) + "." if titles else ""
    return f"The knowledge base has no answer to this question.{named}"


def _best_cosine(candidates: Candidates) -> float:
    """The best span's, or without spans the best chunk's."""
    for cosines in (candidates.span_cosine, candidates.recalled.cosine):
        known: Floats = cosines[np.isfinite(cosines)]
        if len(known):
            return float(known.max())
    return UNKNOWN_COSINE
