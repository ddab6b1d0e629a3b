"""Whether a chunk is written in another language than the question."""

import numpy as np
import pytest

from app.query import language

CHINESE, MIXED, ENGLISH = 0.8, 0.1, 0.0


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("出差可以坐商务舱吗", [False, False, True]),
        ("FastAPI 怎么返回 HTTPException", [False, False, True]),
        ("Which hotel may I book?", [True, False, False]),
        ("Wie heißt das?", [True, False, False]),
        ("2024-11", [False, False, False]),
    ],
)
def test_a_chunk_of_both_languages_is_in_either(question: str, expected: list[bool]) -> None:
    assert language.differs(question, np.array([CHINESE, MIXED, ENGLISH])).tolist() == expected


def test_no_chunk_no_answer() -> None:
    assert language.differs("什么", np.empty(0)).tolist() == []
