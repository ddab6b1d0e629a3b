"""A server that speaks Ollama's `POST /api/embed` and OpenAI's `POST /v1/embeddings`.

A text's vector is the sum of its words', each drawn by chance from the model's number: texts that share words are near
each other, and another number is another model. `faults` make it misbehave, one request each, `fault` for good.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

import numpy as np
from faulty_server import FaultyHandler, damaged, running

from app.records import Floats

Fault = Literal[
    "", "slow", "dripping", "dripping headers", "stalls", "cut", "closes", "429", "500", "502", "503", "401", "404",
    "400", "redirect", "truncated", "no json", "html", "shuffled", "missing", "twice", "no index", "narrow", "wide",
    "ragged", "nan", "null", "infinite", "text", "zero", "too many", "too few", "huge", "unsupported",
]  # fmt: skip
AWAY: tuple[Fault, ...] = ("slow", "dripping", "dripping headers", "stalls", "cut", "closes", "502", "503")
UNUSABLE: tuple[Fault, ...] = (
    "truncated", "no json", "html", "missing", "ragged", "nan", "null", "infinite", "text", "zero", "too many",
    "too few", "huge", "unsupported", "400",
)  # fmt: skip
DIM = 24


@dataclass
class EmbedServer:
    """What it was asked, and how it is to answer. Its models are known by number."""

    url: str
    models: dict[str, int]
    fault: Fault = ""
    faults: deque[Fault] = field(default_factory=deque)
    retry_after: str | None = None
    dim: int = DIM
    max_chars: int = 100_000  # of one text, its prefix included
    max_texts: int = 10_000
    too_long: tuple[int, str] = (400, '{"error": "the input length exceeds the context length"}')
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def inputs(self) -> list[list[str]]:
        """The texts of each request."""
        return [body["input"] for _, _, body in self.requests]


def vector(text: str, *, model: int = 0, dim: int = DIM) -> Floats:
    """(dim,): what the server computes. Its length says nothing."""
    words = re.findall(r"\w", text) if re.search("[\u4e00-\u9fff]", text) else re.findall(r"\w+", text.lower())
    drawn = [np.random.default_rng([model, *sha256(word.encode()).digest()]).normal(size=dim) for word in words]
    total: Floats = np.sum(drawn, axis=0) if drawn else np.ones(dim)
    return total


def unit(vectors: Sequence[Floats]) -> Floats:
    """The vectors (n, d), each of length 1."""
    rows = np.array(vectors)
    scaled: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


@contextmanager
def embed_server(*, models: dict[str, int]) -> Iterator[EmbedServer]:
    """A server on a free port of this machine."""
    with running(_Handler) as http:
        http.state = EmbedServer(f"http://127.0.0.1:{http.server_port}", models)  # type: ignore[attr-defined]
        yield http.state  # type: ignore[attr-defined]


class _Handler(FaultyHandler):
    def heard(self, body: dict[str, Any]) -> Fault:
        state: EmbedServer = self.state
        state.requests.append((self.path, dict(self.headers), body))
        return state.faults.popleft() if state.faults else state.fault

    def respond(self, body: dict[str, Any], fault: Any) -> None:
        state: EmbedServer = self.state
        status, content = _reply(self.path, body, state, fault)
        headers = {"Location": self.path} | ({"Retry-After": state.retry_after} if state.retry_after else {})
        self.answer(status, content, fault, headers)


def _reply(path: str, body: dict[str, Any], state: EmbedServer, fault: Fault) -> tuple[int, bytes]:
    if fault.isdigit():
        return int(fault), b'{"error": "secret-host says no"}'
    if fault in {"redirect", "unsupported"}:
        return (307, b"") if fault == "redirect" else (500, b'{"error": "json: unsupported value: NaN"}')
    if path not in {"/api/embed", "/v1/embeddings"} or body["model"] not in state.models:
        return 404, b'{"error": "not found, try pulling it first"}'
    texts = body["input"]
    if len(texts) > state.max_texts or max(map(len, texts)) > state.max_chars:
        return state.too_long[0], state.too_long[1].encode()
    vectors = _misjudged([_vector(text, body, state).tolist() for text in texts], fault)
    if path == "/api/embed":
        return 200, damaged({"model": body["model"], "embeddings": vectors, "total_duration": 9}, fault)
    data = [{"object": "embedding", "index": n, "embedding": one} for n, one in enumerate(vectors)]
    return 200, damaged({"object": "list", "data": _disordered(data, fault), "usage": {"total_tokens": 9}}, fault)


def _vector(text: str, body: dict[str, Any], state: EmbedServer) -> Floats:
    return vector(text, model=state.models[body["model"]], dim=state.dim)[: body.get("dimensions")]


def _misjudged(vectors: list[Any], fault: Fault) -> list[Any]:
    changes: dict[Fault, Any] = {"nan": float("nan"), "null": None, "infinite": 1e999, "text": "0.5"}
    if fault in changes:
        vectors[-1][1] = changes[fault]
    elif fault in {"narrow", "wide"}:
        return [one[:-1] if fault == "narrow" else [*one, 0.5] for one in vectors]
    elif fault == "ragged":
        del vectors[-1][0]
        vectors.append(vectors[0]) if len(vectors) == 1 else None
    elif fault == "zero":
        vectors[-1] = [0] * len(vectors[-1])
    elif fault in {"too few", "missing"}:
        del vectors[0]
    elif fault == "too many":
        vectors.append(vectors[0])
    return vectors


def _disordered(data: list[dict[str, Any]], fault: Fault) -> list[dict[str, Any]]:
    if fault == "shuffled":
        return data[1::2] + data[::2]
    if fault == "twice":
        data[0]["index"] = data[-1]["index"]
    elif fault == "no index":
        del data[0]["index"]
    return data
