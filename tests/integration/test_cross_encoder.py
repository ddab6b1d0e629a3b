"""A real cross-encoder of random weights, made here. `make test-st` runs these: they need the extra `st`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.clients.lazy_model import is_installed
from app.clients.reranker.cross_encoder import CrossEncoderReranker
from app.errors import RerankerUnavailable
from app.ingest import pipeline as ingest
from app.query import pipeline
from app.records import Question, Ranking, Source
from app.resources import Resources

pytestmark = [
    pytest.mark.skipif(not is_installed(), reason="needs sentence-transformers: make test-st"),
    # what torch and transformers warn of among themselves
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
TEXTS = [f"the copper kettle holds {n} litres" + " of water" * (n % 7) for n in range(40)]
QUESTION = "How much does the kettle hold?"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_cross_encoder(tmp_path_factory.mktemp("one"), outputs=1)


def tiny_cross_encoder(folder: Path, outputs: int) -> Path:
    """A BERT of one layer that knows letters and digits, saved as models are."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz0123456789?"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, num_labels=outputs, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def reranker(model: Path, **changes: Any) -> CrossEncoderReranker:
    return CrossEncoderReranker(str(model), **({"max_tokens": 64, "timeout_seconds": 60} | changes))


def test_scores_are_the_models_own_in_the_order_of_the_texts(model: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    found = reranker(model).score(QUESTION, TEXTS)
    tokenizer, bare = AutoTokenizer.from_pretrained(model), AutoModelForSequenceClassification.from_pretrained(model)
    for text, score in zip(TEXTS, found, strict=True):
        inputs = tokenizer(QUESTION, text, truncation=True, max_length=64, return_tensors="pt")
        with torch.no_grad():
            logit = bare(**inputs).logits.item()
        assert score == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-4)
    assert ((found > 0) & (found < 1)).all()
    assert np.ptp(found) > 0


def test_no_text_is_no_error(model: Path) -> None:
    assert reranker(model).score(QUESTION, []).tolist() == []


def test_a_text_over_the_models_length_is_scored_by_its_beginning(model: Path) -> None:
    long, longer = ("kettle " * 100, "kettle " * 10_000)
    scores = reranker(model).score(QUESTION, [long, longer])
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_a_model_that_is_not_there_is_unavailable_and_not_tried_again_at_once(tmp_path: Path) -> None:
    gone = reranker(tmp_path / "nowhere")
    with pytest.raises(RerankerUnavailable, match="cannot be loaded"):
        gone.score(QUESTION, TEXTS)
    with pytest.raises(RerankerUnavailable, match="a moment ago"):
        gone.score(QUESTION, TEXTS)


def test_a_classifier_of_several_classes_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(RerankerUnavailable, match="has 3 outputs"):
        reranker(tiny_cross_encoder(tmp_path, outputs=3)).score(QUESTION, TEXTS)


def test_the_timeout_holds_between_two_batches(model: Path) -> None:
    slow = reranker(model, timeout_seconds=1e-9)
    with pytest.raises(RerankerUnavailable, match="RERANKER_TIMEOUT_SECONDS"):
        slow.score(QUESTION, TEXTS)


def test_a_search_is_reranked_by_the_model(model: Path, resources: Resources) -> None:
    ready = replace(resources, settings=resources.settings.model_copy(update={"reranker_model": str(model)}))
    ready.__dict__["backends"] = resources.backends
    for n, text in enumerate(TEXTS[:5]):
        ingest.ingest(Source(f"{n}.txt", str(n), "text/plain", text), "k", ready)
    result = pipeline.search(Question(QUESTION, "k", Ranking(reranker="cross-encoder", rerank_weight=10)), ready)
    expected = sorted(reranker(model).score(QUESTION, TEXTS[:5]).tolist(), reverse=True)
    assert [hit.rerank_score for hit in result.hits] == pytest.approx(expected, abs=1e-5)
    assert result.degraded == ()
