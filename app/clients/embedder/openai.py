"""OpenAI's interface, which TEI, vLLM, Infinity, LM Studio, llama.cpp and Ollama speak too: `POST /v1/embeddings`."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat

from app.errors import EmbeddingFailed


class _Indexed(BaseModel):
    model_config = ConfigDict(strict=True)

    index: int
    embedding: list[FiniteFloat]


class _Embedded(BaseModel):
    data: list[_Indexed]


class OpenAI:
    """A Dialect. `dimensions` for a server that shortens the vectors itself."""

    def __init__(self, base_url: str, model: str, dimensions: int | None) -> None:
        self.url = f"{base_url}/embeddings"
        self._fixed: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimensions is not None:
            self._fixed["dimensions"] = dimensions

    def body(self, texts: Sequence[str]) -> dict[str, Any]:
        return self._fixed | {"input": list(texts)}

    def rows(self, content: bytes) -> list[list[float]]:
        found = _Embedded.model_validate_json(content).data
        by_index = {one.index: one.embedding for one in found}
        if sorted(by_index) != list(range(len(found))):
            raise EmbeddingFailed("the embedder's vectors are not numbered from 0, each once")
        return [by_index[n] for n in range(len(found))]
