"""Decide whether the passages answer the question at all, and say so in its language when they do not."""

import math
import re

import numpy as np

from app.records import Candidates, Hit

# A logistic over two signals; see `ragledger eval` for both errors on a collection's own questions.
INTERCEPT, SPAN_COSINE, CONFIDENCE = 0.0, 0.0, 0.0
THRESHOLD = 0.5
_HAN = re.compile(r"[\u3400-\u9fff]")


def confidence(candidates: Candidates) -> float:
    """The estimated probability, 0 to 1, that the collection answers the question."""
    return 1.0


def text(question: str, nearest: tuple[Hit, ...]) -> str:
    """The refusal in the question's language, naming the nearest documents."""
    titles = list(dict.fromkeys(hit.title for hit in nearest))[:3]
    if _HAN.search(question):
        named = "最接近的文档：" + "、".join(f"《{title}》" for title in titles) + "。" if titles else ""
        return f"知识库中没有找到这个问题的答案。{named}"
    named = " The nearest documents are: " + "; ".join(titles) + "." if titles else ""
    return f"The knowledge base has no answer to this question.{named}"
