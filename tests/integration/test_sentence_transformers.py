"""The backend sentence-transformers on real models. `make test-st` runs these: they need the extra `st`."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.clients.embedder.backends import Backends
from app.clients.embedder.sentence_transformers import SentenceTransformersEmbedder
from app.clients.lazy_model import is_installed
from app.errors import EmbedderUnavailable, EmbeddingFailed, WrongModel
from app.records import ModelIdentity, Vectors
from app.settings import ROOT, Settings
from tests.mixed import mixed_texts
from tests.st_models import plain_transformer, tiny

pytestmark = [
    pytest.mark.skipif(not is_installed(), reason="needs sentence-transformers: make test-st"),
    # what torch and transformers warn of among themselves
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
SHORT = [f"the copper kettle holds {n} litres" + " of water" * (n % 7) for n in range(80)]
LONG = [" ".join(f"the grinder has {n} settings" for n in range(count)) for count in (13, 20, 33, 70)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("mean"))


def embedder(model: Path | str, *, dim: int = 0, query: str = "", passage: str = "") -> SentenceTransformersEmbedder:
    identity = ModelIdentity("sentence-transformers", str(model), dim, query, passage)
    return SentenceTransformersEmbedder(identity, load_seconds=120)


def token_vectors(model: Path, ids: Sequence[int]) -> Vectors:
    """The last layer of the bare transformer over some tokens: (n, 32)."""
    import torch
    from transformers import AutoModel

    bare = AutoModel.from_pretrained(model).eval()
    with torch.no_grad():
        found: Vectors = bare(torch.tensor([list(ids)])).last_hidden_state[0].numpy()
    return found


def token_ids(model: Path, text: str) -> list[int]:
    from transformers import AutoTokenizer

    ids: list[int] = AutoTokenizer.from_pretrained(model)(text, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def unit(vector: Vectors) -> Vectors:
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def windowed(model: Path, text: str, room: int) -> Vectors:
    """The mean of a text's windows of `room` tokens, each pooled by the mean, weighted by their tokens."""
    ids, start, end = token_ids(model, text), 2, 3
    windows = [ids[at : at + room] for at in range(0, len(ids), room)]
    means = [len(window) * token_vectors(model, [start, *window, end]).mean(axis=0) for window in windows]
    return unit(np.sum(means, axis=0))


def test_vectors_are_the_models_own_in_the_order_of_the_texts(model: Path) -> None:
    from sentence_transformers import SentenceTransformer

    vectors = embedder(model).embed_passages(SHORT)
    own = SentenceTransformer(str(model), device="cpu").encode(SHORT, batch_size=1, normalize_embeddings=True)
    assert vectors.dtype == np.float32
    assert vectors.shape == (80, 32)
    assert np.abs(vectors - own).max() < 1e-5
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_over_the_models_length_is_the_mean_of_its_windows(model: Path) -> None:
    vectors = embedder(model).embed_passages([*SHORT[:3], *LONG])[3:]
    for text, vector in zip(LONG, vectors, strict=True):
        assert len(token_ids(model, text)) > 62
        assert np.abs(vector - windowed(model, text, room=62)).max() < 1e-5


def test_no_token_of_a_long_text_is_left_out(model: Path) -> None:
    text = LONG[-1]
    changed = embedder(model).embed_passages([text, text + " water", "water " + text])
    cosines = changed @ changed.T
    assert (cosines[np.triu_indices(3, 1)] < 1 - 1e-6).all()


def test_the_positions_of_a_roberta_are_not_overrun(tmp_path: Path) -> None:
    folder = tiny(tmp_path, kind="xlm-roberta")
    for text, vector in zip(LONG, embedder(folder).embed_passages(LONG), strict=True):
        assert np.abs(vector - windowed(folder, text, room=62)).max() < 1e-5


def test_a_text_has_the_same_vector_in_any_company(model: Path) -> None:
    ours = embedder(model)
    texts = [*SHORT, *LONG]
    vectors = dict(zip(texts, ours.embed_passages(texts), strict=True))
    shuffled = random.Random(3).sample(texts, len(texts))  # noqa: S311 - a test's order
    for text, vector in zip(shuffled, ours.embed_passages(shuffled), strict=True):
        assert np.abs(vector - vectors[text]).max() < 1e-5
    assert np.abs(ours.embed_passages([LONG[0]])[0] - vectors[LONG[0]]).max() < 1e-5


def test_threads_share_the_embedder(model: Path) -> None:
    ours = embedder(model)
    expected = ours.embed_questions([*SHORT, *LONG])
    with ThreadPoolExecutor(6) as pool:
        for vectors in pool.map(ours.embed_questions, [[*SHORT, *LONG]] * 12):
            assert np.abs(vectors - expected).max() < 1e-5


def test_a_prefix_is_put_once_whatever_prompts_the_model_brings(model: Path, tmp_path: Path) -> None:
    prompts = {"query": "query: ", "document": "the water "}
    prompted = tiny(tmp_path, prompts=prompts, default_prompt_name="query")
    assert json.loads((prompted / "config_sentence_transformers.json").read_text())["default_prompt_name"] == "query"
    plain = embedder(model)
    ours = embedder(prompted, query="query: ", passage="the water ")
    assert np.abs(embedder(prompted).embed_questions(SHORT) - plain.embed_questions(SHORT)).max() < 1e-5
    for found, prefix in ((ours.embed_questions(SHORT), "query: "), (ours.embed_passages(SHORT), "the water ")):
        assert np.abs(found - plain.embed_passages([prefix + text for text in SHORT])).max() < 1e-5


@pytest.mark.parametrize("pooling", ["cls", "max", "lasttoken"])
def test_a_model_is_pooled_as_it_was_saved(tmp_path: Path, pooling: str) -> None:
    folder = tiny(tmp_path, pooling=pooling)
    for text, vector in zip(SHORT[:9], embedder(folder).embed_passages(SHORT[:9]), strict=True):
        tokens = token_vectors(folder, [2, *token_ids(folder, text), 3])
        expected = {"cls": tokens[0], "max": tokens.max(axis=0), "lasttoken": tokens[-1]}[pooling]
        assert np.abs(vector - unit(expected)).max() < 1e-5


def test_a_folder_that_does_not_say_its_pooling_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"plain cannot be loaded: it has no modules\.json"):
        embedder(plain_transformer(tmp_path / "plain")).embed_questions(SHORT)
    half = tiny(tmp_path / "half", pooling="cls")
    (half / "1_Pooling" / "config.json").unlink()
    with pytest.raises(EmbedderUnavailable, match=r"1_Pooling/config\.json is missing"):
        embedder(half).embed_questions(SHORT)


def test_a_model_that_would_not_pool_the_prefix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="leaves what stands before a text out"):
        embedder(tiny(tmp_path, prompted=False), query="query: ").embed_questions(SHORT)


def test_a_damaged_model_is_unavailable_by_name_and_not_tried_again_at_once(model: Path, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(model, tmp_path / "damaged"))
    (damaged / "model.safetensors").write_bytes(b"no weights")
    ours = embedder(damaged)
    with pytest.raises(EmbedderUnavailable, match="damaged cannot be loaded"):
        ours.embed_questions(SHORT)
    with pytest.raises(EmbedderUnavailable, match="a moment ago"):
        ours.embed_questions(SHORT)


def test_a_vector_is_shortened_to_the_spaces_dimension_but_never_filled_up(model: Path) -> None:
    whole = embedder(model).embed_passages(SHORT)
    shortened = embedder(model, dim=8).embed_passages(SHORT)
    assert shortened.shape == (80, 8)
    assert np.abs(shortened - [unit(row[:8]) for row in whole]).max() < 1e-6
    assert embedder(model, dim=32).embed_passages([]).shape == (0, 32)
    with pytest.raises(WrongModel, match="has 32 dimensions, the space has 64"):
        embedder(model, dim=64).embed_passages(SHORT)


def test_half_a_character_is_named(model: Path) -> None:
    with pytest.raises(EmbeddingFailed, match="text 1 is not valid Unicode"):
        embedder(model).embed_passages(["kettle", "ket\ud800tle"])


def test_a_model_of_weights_that_are_no_numbers_fails_by_name(tmp_path: Path) -> None:
    import torch
    from transformers import BertModel

    folder = tiny(tmp_path)
    bare = BertModel.from_pretrained(folder, add_pooling_layer=False)
    with torch.no_grad():
        bare.embeddings.LayerNorm.bias[:] = float("nan")
    bare.save_pretrained(folder)
    with pytest.raises(EmbeddingFailed, match="no usable vector for text 0 of 80"):
        embedder(folder).embed_passages(SHORT)


def asked_without_network(tmp_path: Path, name: str) -> tuple[str, float]:
    """What a process says that embeds by a hub's model while the hub is away, and the seconds it took."""
    code = """if True:
        import sys
        from app.clients.embedder.sentence_transformers import SentenceTransformersEmbedder
        from app.errors import EmbedderUnavailable
        from app.records import ModelIdentity

        identity = ModelIdentity("sentence-transformers", sys.argv[1], 0, "", "")
        try:
            print(SentenceTransformersEmbedder(identity, load_seconds=120).embed_questions(["kettle"]).shape)
        except EmbedderUnavailable as error:
            print(error)
    """
    away = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    start = time.monotonic()
    command = [sys.executable, "-c", code, name]
    done = subprocess.run(command, env=os.environ | away, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout, time.monotonic() - start


def test_without_a_network_a_model_of_the_hub_is_unavailable_soon(tmp_path: Path) -> None:
    said, seconds = asked_without_network(tmp_path, "BAAI/bge-small-zh-v1.5")
    assert "the embedding model BAAI/bge-small-zh-v1.5 cannot be loaded: it is not on this machine" in said
    assert "EMBED_MODEL must be a folder" in said
    assert seconds < 110


def test_a_model_in_the_hubs_cache_needs_no_network(model: Path, tmp_path: Path) -> None:
    cached = tmp_path / "hub" / "models--acme--tiny"
    shutil.copytree(model, cached / "snapshots" / ("0" * 40))
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0" * 40)
    assert asked_without_network(tmp_path, "acme/tiny")[0] == "(1, 32)\n"
    (cached / "snapshots" / ("0" * 40) / "1_Pooling" / "config.json").unlink()  # half fetched: no guess at the rest
    assert "cannot be loaded" in asked_without_network(tmp_path, "acme/tiny")[0]


def test_a_path_that_is_no_folder_is_not_asked_of_the_hub(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="nowhere cannot be loaded: there is no such folder"):
        embedder(tmp_path / "nowhere").embed_questions(SHORT)


def test_the_settings_name_a_folder_and_the_space_keeps_its_name(model: Path) -> None:
    given: dict[str, Any] = {"embed_backend": "sentence-transformers", "embed_model": str(model), "embed_dim": 32}
    configured = Backends(Settings(**given, embed_query_prefix="query: ")).configured
    assert configured.identity == ModelIdentity("sentence-transformers", str(model), 32, "query: ", "")
    expected = embedder(model, query="query: ").embed_questions(SHORT)
    assert np.abs(configured.embed_questions(SHORT) - expected).max() < 1e-6


def test_mixed_texts_of_unknown_words_are_embedded_too(model: Path) -> None:
    texts = mixed_texts()
    vectors = embedder(model).embed_passages(texts)
    assert vectors.shape == (len(texts), 32)
