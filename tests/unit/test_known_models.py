"""The table of known models: no name twice, nothing that cannot be."""

from collections import Counter

import pytest

from app.clients.embedder import known
from app.clients.embedder.known import MODELS, Known
from app.settings import EMBED_BACKENDS


def test_no_name_is_that_of_two_models() -> None:
    names = Counter(name.lower() for model in MODELS for name in {model.model, *model.names.values()})
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.model)
def test_a_model_is_found_by_each_of_its_names(model: Known) -> None:
    for name in (model.model, model.model.upper(), *model.names.values()):
        assert known.find(name) is model
        assert known.find(f"{name}:latest") is model
    for backend in EMBED_BACKENDS:
        assert known.find(known.name_at(backend, model.model)) is model


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.model)
def test_a_model_has_sizes_that_there_are(model: Known) -> None:
    assert model.dim in {384, 512, 768, 1_024, 1_536, 2_560, 3_072, 4_096}
    assert 256 <= model.max_tokens <= 32_768
    assert set(model.names) <= set(EMBED_BACKENDS)
    assert model.shortens or not model.shortened_by
    assert not model.passage_prefix or model.query_prefix


def test_a_model_that_is_not_known_keeps_its_name() -> None:
    assert known.find("some/model") is None
    assert known.name_at("ollama", "some/model:7b") == "some/model:7b"
